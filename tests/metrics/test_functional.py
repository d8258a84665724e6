"""Agreement statistics against scipy and against loops over pairs."""

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
from sklearn.metrics import roc_auc_score
from torch import Tensor

from radreward.metrics import functional

SMALL = st.integers(-3, 3).map(float)


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Draw two columns of predictions and targets with ties, and groups of any size in any order."""
    size = draw(st.integers(1, 16))
    values = st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=size, max_size=size)
    group = draw(st.lists(st.sampled_from([5, 0, 9]), min_size=size, max_size=size))
    return torch.tensor(draw(values)), torch.tensor(draw(values)), torch.tensor(group)


def scipy_tau(x: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.kendalltau(x, y).statistic) if len(x) > 1 else math.nan


@given(st.lists(st.tuples(SMALL, SMALL), max_size=60))
def test_correlations_match_scipy(rows: list[tuple[float, float]]) -> None:
    x, y = (torch.tensor([row[side] for row in rows], dtype=torch.float64) for side in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rho = float(stats.spearmanr(x.numpy(), y.numpy()).statistic) if len(rows) > 1 else math.nan
    # Warnings are errors in tests, so none may be issued here.
    assert functional.kendall_tau_b(x, y).item() == pytest.approx(
        scipy_tau(x.numpy(), y.numpy()), abs=1e-12, nan_ok=True
    )
    assert functional.spearman(x, y).item() == pytest.approx(rho, abs=1e-12, nan_ok=True)


@given(st.lists(st.tuples(SMALL, st.booleans()), max_size=60))
def test_error_auc_equals_sklearn_and_a_loop(rows: list[tuple[float, bool]]) -> None:
    scores = torch.tensor([score for score, _ in rows], dtype=torch.float64)
    has_error = torch.tensor([wrong for _, wrong in rows], dtype=torch.bool)
    auc = functional.error_auc(scores, has_error).item()
    if len(set(scores.tolist())) < 2 or len(set(has_error.tolist())) < 2:
        assert math.isnan(auc)
        return
    assert auc == pytest.approx(roc_auc_score(~has_error.numpy(), scores.numpy()), abs=1e-12)
    wins = [
        (right > wrong) + (right == wrong) / 2
        for right, _ in (row for row in rows if not row[1])
        for wrong, _ in (row for row in rows if row[1])
    ]
    assert auc == pytest.approx(np.mean(wins), abs=1e-12)


@pytest.mark.parametrize("statistic", [functional.kendall_tau_b, functional.spearman])
@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0, math.nan], [1.0, 2.0])],
)
def test_undefined_correlation_is_nan(statistic: object, x: list[float], y: list[float]) -> None:
    assert callable(statistic)
    assert math.isnan(statistic(torch.tensor(x), torch.tensor(y)))


def test_correlations_computed_per_column() -> None:
    x, y = torch.tensor([[1.0, 1.0], [2.0, 5.0], [3.0, 2.0]]), torch.tensor([[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]])
    torch.testing.assert_close(
        functional.kendall_tau_b(x, y), torch.tensor([1.0, math.nan], dtype=torch.float64), equal_nan=True
    )
    with pytest.raises(ValueError, match="of one shape"):
        functional.spearman(x, y[:2])


@given(grouped())
def test_concordant_pairs_match_loop(data: tuple[Tensor, Tensor, Tensor]) -> None:
    preds, target, group = data
    concordant, comparable = functional.count_concordant_pairs(preds, target, group)
    for index, number in enumerate(sorted(set(group.tolist()))):
        for column in range(2):
            selected = group == number
            rows = list(zip(preds[selected, column].tolist(), target[selected, column].tolist(), strict=True))
            untied = [(a, b) for a, b in itertools.combinations(rows, 2) if a[1] != b[1]]
            assert comparable[index, column] == len(untied)
            assert concordant[index, column] == sum((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in untied)


def test_pairs_with_nan_are_not_concordant() -> None:
    preds, target, group = torch.tensor([[math.nan], [1.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([0, 0])
    assert [count.item() for count in functional.count_concordant_pairs(preds, target, group)] == [0, 1]


def test_mismatched_shapes_raise_value_error() -> None:
    with pytest.raises(ValueError, match=r"Expected \(C, M\) predictions and targets and \(C,\) groups"):
        functional.count_concordant_pairs(torch.zeros(3, 1), torch.zeros(3, 1), torch.zeros(2))
