"""Statistics against scipy and against loops over pairs."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from radreward.metrics import functional

SMALL = st.integers(-3, 3).map(float)


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Two columns of predictions and targets with ties, and groups of any size in any order."""
    size = draw(st.integers(1, 16))
    values = st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=size, max_size=size)
    group = draw(st.lists(st.sampled_from([5, 0, 9]), min_size=size, max_size=size))
    return torch.tensor(draw(values)), torch.tensor(draw(values)), torch.tensor(group)


def scipy_tau(x: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.kendalltau(x, y).statistic) if len(x) > 1 else math.nan


@given(st.lists(st.tuples(SMALL, SMALL), max_size=60))
def test_correlations_are_those_of_scipy(rows: list[tuple[float, float]]) -> None:
    x, y = (torch.tensor([row[side] for row in rows], dtype=torch.float64) for side in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rho = float(stats.spearmanr(x.numpy(), y.numpy()).statistic) if len(rows) > 1 else math.nan
    # pytest turns a warning of ours into an error.
    assert functional.kendall_tau_b(x, y).item() == pytest.approx(
        scipy_tau(x.numpy(), y.numpy()), abs=1e-12, nan_ok=True
    )
    assert functional.spearman(x, y).item() == pytest.approx(rho, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("statistic", [functional.kendall_tau_b, functional.spearman])
@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0, math.nan], [1.0, 2.0])],
)
def test_not_defined_is_nan(statistic: object, x: list[float], y: list[float]) -> None:
    assert callable(statistic)
    assert math.isnan(statistic(torch.tensor(x), torch.tensor(y)))


def test_columns_are_apart() -> None:
    x, y = torch.tensor([[1.0, 1.0], [2.0, 5.0], [3.0, 2.0]]), torch.tensor([[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]])
    torch.testing.assert_close(
        functional.kendall_tau_b(x, y), torch.tensor([1.0, math.nan], dtype=torch.float64), equal_nan=True
    )
    with pytest.raises(ValueError, match="of one shape"):
        functional.spearman(x, y[:2])


@given(grouped())
def test_within_group_tau_is_that_of_scipy_group_by_group(data: tuple[Tensor, Tensor, Tensor]) -> None:
    preds, target, group = data
    tau = functional.within_group_tau(preds, target, group)
    for row, number in enumerate(sorted(set(group.tolist()))):
        for column in range(2):
            x, y = preds[group == number, column].numpy(), target[group == number, column].numpy()
            assert tau[row, column].item() == pytest.approx(scipy_tau(x, y), abs=1e-12, nan_ok=True)


@given(grouped())
def test_pair_order_is_the_loop(data: tuple[Tensor, Tensor, Tensor]) -> None:
    preds, target, group = data
    right, pairs = functional.count_concordant_pairs(preds, target, group)
    for column in range(2):
        rows = list(zip(preds[:, column].tolist(), target[:, column].tolist(), group.tolist(), strict=True))
        differ = [(a, b) for a, b in itertools.combinations(rows, 2) if a[2] == b[2] and a[1] != b[1]]
        assert pairs[column] == len(differ)
        assert right[column] == sum((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in differ)


def test_nan_is_never_right() -> None:
    preds, target, group = torch.tensor([[math.nan], [1.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([0, 0])
    assert [count.item() for count in functional.count_concordant_pairs(preds, target, group)] == [0, 1]
    assert functional.within_group_tau(preds, target, group).isnan().all()


def test_groups_have_to_fit() -> None:
    with pytest.raises(ValueError, match=r"Expected \(C, M\) predictions and targets and \(C,\) groups"):
        functional.count_concordant_pairs(torch.zeros(3, 1), torch.zeros(3, 1), torch.zeros(2))
