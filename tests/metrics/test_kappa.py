"""Cohen's κ against scikit-learn, matrices over raters, heat maps."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from radreward.metrics import CohenKappa, cohen_kappa, confusion_matrix, kappa_matrix, tau_matrix
from radreward.metrics.plotting import heatmap

CLASSES = (-1.0, 0.0, 0.5, 1.0)
WEIGHTS = st.sampled_from([None, "linear", "quadratic"])
RATED = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=60)


def sides(pairs: list[tuple[float, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([x for x, _ in pairs]), torch.tensor([y for _, y in pairs])


@given(RATED, WEIGHTS)
def test_kappa_is_that_of_sklearn(pairs: list[tuple[float, float]], weights: Any) -> None:
    preds, target = sides(pairs)
    counts = confusion_matrix(preds, target, CLASSES)
    # scikit-learn takes floats for a regression: places stand for the classes.
    places = [[CLASSES.index(value) for value in side.tolist()] for side in (target, preds)]
    np.testing.assert_array_equal(counts.numpy(), confusion_matrix(*places, labels=range(4)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = float(cohen_kappa_score(*places, labels=range(4), weights=weights))
    found = cohen_kappa(counts, weights).item()
    if len({*places[0], *places[1]}) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(expected, abs=1e-12)


@given(RATED, WEIGHTS, st.integers(1, 9))
def test_batches_and_processes_add_up(pairs: list[tuple[float, float]], weights: Any, size: int) -> None:
    preds, target = sides(pairs)
    whole, one, other = (CohenKappa(weights=weights) for _ in range(3))
    whole.update(preds, target)
    for start in range(0, len(pairs), size):
        (one if start % 2 else other).update(preds[start : start + size], target[start : start + size])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one may not have been updated
        one.merge_state(other)
    torch.testing.assert_close(one.counts, whole.counts)
    torch.testing.assert_close(cohen_kappa(one.counts, weights), whole.compute(), equal_nan=True)


def test_empty() -> None:
    metric = CohenKappa()
    metric.update(torch.zeros(0), torch.zeros(0))
    assert math.isnan(metric.compute())


def test_other_classes() -> None:
    metric = CohenKappa(classes=(1.0, 2.0, 3.0), weights="quadratic")
    metric.update(torch.tensor([1, 2, 3, 3]), torch.tensor([1.0, 2.0, 2.0, 3.0]))
    assert metric.compute().item() == pytest.approx(cohen_kappa_score([1, 2, 2, 3], [1, 2, 3, 3], weights="quadratic"))


@pytest.mark.parametrize(
    ("preds", "message"),
    [
        (torch.tensor([0.7]), r"Expected values of \[-1.0, 0.0, 0.5, 1.0\] but got 0.7"),
        (torch.tensor([torch.nan]), "but got nan"),
        (torch.zeros(2), r"Expected \(n,\) classes of two raters but got \(2,\) and \(1,\)"),
        (torch.zeros(1, 1), r"Expected \(n,\) classes"),
    ],
)
def test_what_is_no_class(preds: torch.Tensor, message: str) -> None:
    metric = CohenKappa()
    with pytest.raises(ValueError, match=message):
        metric.update(preds, torch.zeros(1))
    assert int(metric.counts.sum()) == 0


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="Expected `classes` to be different"):
        CohenKappa(classes=(1.0, 1.0))
    weights: Any = "cubic"
    with pytest.raises(ValueError, match="Expected `weights` to be linear, quadratic or None but got 'cubic'"):
        CohenKappa(weights=weights)
    with pytest.raises(ValueError, match=r"Expected a \(K, K\) table"):
        cohen_kappa(torch.zeros(2, 3))


def test_matrix_of_raters() -> None:
    generator = torch.Generator().manual_seed(0)
    ratings = torch.tensor(CLASSES)[torch.randint(0, 4, (4, 80), generator=generator)]
    ratings[1, :60] = ratings[0, :60]
    ratings[2, ::7] = torch.nan
    kappa, count = kappa_matrix(ratings, CLASSES, "linear")
    torch.testing.assert_close(kappa, kappa.T)
    torch.testing.assert_close(kappa.diagonal(), torch.ones(4, dtype=torch.float64))
    assert kappa[0, 1] > 0.6 > kappa[0, 3]
    assert count.tolist() == [[80, 80, 68, 80], [80, 80, 68, 80], [68, 68, 68, 68], [80, 80, 68, 80]]
    there = ~ratings[2].isnan()
    places = [[CLASSES.index(value) for value in ratings[row][there].tolist()] for row in (0, 2)]
    assert kappa[0, 2].item() == pytest.approx(cohen_kappa_score(*places, weights="linear"))


def test_matrix_of_scores() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 30, generator=generator)
    scores = torch.cat([scores, scores[:1] + 0.1 * scores[1:2], torch.ones(1, 30)])
    scores[2, 4] = torch.nan
    tau, p = tau_matrix(scores)
    for one in range(4):
        for other in range(4):
            there = ~(scores[one].isnan() | scores[other].isnan())
            found = stats.kendalltau(scores[one][there], scores[other][there])
            assert (tau[one, other].item(), p[one, other].item()) == pytest.approx((found.statistic, found.pvalue))
    assert tau[4].isnan().all()
    assert tau_matrix(torch.zeros(2, 0))[0].isnan().all()


def test_ratings_are_checked() -> None:
    for wrong in (torch.zeros(3), torch.zeros(2, 3, dtype=torch.int64)):
        with pytest.raises(ValueError, match=r"Expected \(R, n\) ratings"):
            kappa_matrix(wrong, CLASSES)
        with pytest.raises(ValueError, match=r"Expected \(R, n\) ratings"):
            tau_matrix(wrong)


def test_heat_map_of_agreement_and_of_counts() -> None:
    figure = heatmap(torch.tensor([[1.0, torch.nan], [-0.25, 1.0]]), ["a", "b"], title="κ")
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.texts] == ["1.00", "nan", "-0.25", "1.00"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["a", "b"]
    assert axis.get_title() == "κ"
    assert axis.images[0].get_clim() == (-1, 1)
    counts = confusion_matrix(torch.tensor([1.0, 1.0, 0.0]), torch.tensor([1.0, 0.5, 0.0]), CLASSES)
    figure = heatmap(counts, [f"{value:g}" for value in CLASSES], limits=None)
    assert [text.get_text() for text in figure.axes[0].texts].count("1") == 3
    assert figure.axes[0].images[0].get_clim() == (0, 1)
    figure.canvas.draw()
    with pytest.raises(ValueError, match=r"Expected a matrix of shape \(1, 1\)"):
        heatmap(counts, ["a"])
