"""Metric objects: batches, names, empty and merged states."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor
from torchmetrics import MetricCollection

from radreward.metrics import CountError, KendallTauB, PairwiseAccuracy, SpearmanRho, SubScoreMetric

TAGS = ("omission", "severity", "location")
GROUPED = [KendallTauB, SpearmanRho, PairwiseAccuracy]


def batches(seed: int, count: int = 3) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return batches of four groups of four; group indices restart with every batch."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(4).repeat_interleave(4)
    return [
        (
            torch.randn(16, 3, generator=generator),
            -torch.randint(0, 3, (16, 3), generator=generator).float(),
            group[torch.randperm(16, generator=generator)],
        )
        for _ in range(count)
    ]


def with_total(values: Tensor) -> np.ndarray[Any, Any]:
    array = values.double().numpy()
    return np.concatenate([array, array.sum(1, keepdims=True)], 1)


def expected(metric: type[SubScoreMetric], data: list[tuple[Tensor, Tensor, Tensor]]) -> list[float]:
    """Return the value of each column, from scipy and loops."""
    rows = [(with_total(x), with_total(y), group.numpy() + 10 * k) for k, (x, y, group) in enumerate(data)]
    x, y, group = (np.concatenate(side) for side in zip(*rows, strict=True))
    values = []
    for column in range(4):
        a, b = x[:, column], y[:, column]
        if metric is KendallTauB:
            values.append(float(stats.kendalltau(a, b).statistic))
        elif metric is SpearmanRho:
            values.append(float(stats.spearmanr(a, b).statistic))
        else:
            pairs = [(i, j) for i in range(len(a)) for j in range(len(a)) if group[i] == group[j] and b[i] > b[j]]
            values.append(sum(a[i] > a[j] for i, j in pairs) / len(pairs))
    return values


@pytest.mark.parametrize("metric", GROUPED)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_metric_over_batches_matches_reference(metric: type[SubScoreMetric], seed: int) -> None:
    instance, data = metric(TAGS), batches(seed)
    for batch in data:
        instance.update(*batch)
    values = instance.compute()
    assert list(values) == [*TAGS, "total"]
    assert [value.item() for value in values.values()] == pytest.approx(expected(metric, data), abs=1e-12)


@pytest.mark.parametrize("metric", [*GROUPED, CountError])
def test_empty_state_is_nan(metric: type[SubScoreMetric]) -> None:
    instance = metric(TAGS)
    with pytest.warns(UserWarning, match="before the ``update`` method"):  # issued by torchmetrics
        values = instance.compute()
    assert all(math.isnan(value) for value in values.values())
    instance.reset()
    instance.update(torch.zeros(0, 3), torch.zeros(0, 3), *([] if metric is CountError else [torch.zeros(0).long()]))
    assert all(math.isnan(value) for value in instance.compute().values())


@pytest.mark.parametrize("metric", [*GROUPED, CountError])
def test_merged_states_equal_one_state(metric: type[SubScoreMetric]) -> None:
    data = [batch[: 2 if metric is CountError else 3] for batch in batches(3, count=4)]
    combined, first, second = metric(TAGS), metric(TAGS), metric(TAGS)
    for k, batch in enumerate(data):
        combined.update(*batch)
        (first if k < 2 else second).update(*batch)
    first.merge_state(second)
    for name, value in combined.compute().items():
        torch.testing.assert_close(first.compute()[name], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", GROUPED)
def test_copied_metric_is_independent(metric: type[SubScoreMetric]) -> None:
    instance = metric(TAGS)
    instance.persistent(True)
    instance.update(*batches(4)[0])
    copied = copy.deepcopy(instance)
    assert {k: v.item() for k, v in copied.compute().items()} == {k: v.item() for k, v in instance.compute().items()}
    instance.reset()
    instance.update(*batches(5)[0])
    assert {k: v.item() for k, v in copied.compute().items()} != {k: v.item() for k, v in instance.compute().items()}


def test_metric_without_tags_takes_totals() -> None:
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0])
    metric = KendallTauB()
    metric.update(x, y)
    assert metric.compute()["total"].item() == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match=r"Expected predictions and targets of shape \(3, 3\)"):
        KendallTauB(TAGS).update(x, y)


def test_metrics_work_in_collection() -> None:
    metrics = MetricCollection({"tau": KendallTauB(TAGS), "rho": SpearmanRho(TAGS), "accuracy": PairwiseAccuracy(TAGS)})
    for batch in batches(6):
        metrics.update(*batch)
    values = metrics.compute()
    single = KendallTauB(TAGS)
    for batch in batches(6):
        single.update(*batch)
    assert values["tau_total"] == single.compute()["total"]
    assert len(values) == 12


def test_equal_totals_of_weighted_errors_stay_equal() -> None:
    errors, weights = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), torch.tensor([0.1, 0.2, 0.1])
    metric = PairwiseAccuracy(TAGS)
    metric.update(torch.randn(2, 3), -errors * weights, torch.tensor([0, 0]))
    assert metric.comparable[-1] == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(-0.5, 6), st.integers(0, 5)), min_size=1, max_size=20))
def test_count_error_matches_numpy(rows: list[tuple[float, int]]) -> None:
    predicted, counted = (torch.tensor([float(row[side]) for row in rows], dtype=torch.float64) for side in range(2))
    metric = CountError()
    for start in range(0, len(rows), 7):
        metric.update(predicted[start : start + 7], counted[start : start + 7])
    values = metric.compute()
    error = np.abs(predicted.numpy() - counted.numpy())
    assert values["total/mae"].item() == pytest.approx(error.mean())
    assert values["total/sd"].item() == pytest.approx(error.std(), abs=1e-6)
    exact = np.mean(np.round(predicted.numpy()) == counted.numpy())
    assert values["total/accuracy"].item() == pytest.approx(float(exact))


def test_count_error_by_criterion() -> None:
    metric = CountError(["omission", "severity"])
    metric.update(torch.tensor([[0.0, 1.4], [2.0, 0.0]]), torch.tensor([[1.0, 1.0], [2.0, 0.0]]))
    values = {name: round(value.item(), 6) for name, value in metric.compute().items()}
    assert values["omission/mae"] == 0.5
    assert values["severity/accuracy"] == 1
    assert values["total/mae"] == 0.3
    assert values["total/accuracy"] == 0.5 + 0.5 * (round(1.4) == 2)


@pytest.mark.parametrize("tags", [["a", "a"], ["total"]])
def test_repeated_tags_raise_value_error(tags: list[str]) -> None:
    with pytest.raises(ValueError, match="Expected `tags` to be different"):
        KendallTauB(tags)
