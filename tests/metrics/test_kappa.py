"""Cohen's κ and confusion matrices against scikit-learn."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from sklearn.metrics import confusion_matrix as sklearn_confusion_matrix

from radreward.metrics import cohen_kappa, confusion_matrix

CLASSES = (-1.0, 0.0, 0.5, 1.0)
WEIGHTS = st.sampled_from([None, "linear", "quadratic"])
RATED = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=60)


def sides(pairs: list[tuple[float, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([x for x, _ in pairs]), torch.tensor([y for _, y in pairs])


@given(RATED, WEIGHTS)
def test_kappa_matches_sklearn(pairs: list[tuple[float, float]], weights: Any) -> None:
    preds, target = sides(pairs)
    counts = confusion_matrix(preds, target, CLASSES)
    # scikit-learn does not accept floats as classes, so it gets their indices.
    indices = [[CLASSES.index(value) for value in side.tolist()] for side in (target, preds)]
    np.testing.assert_array_equal(counts.numpy(), sklearn_confusion_matrix(*indices, labels=range(4)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = float(cohen_kappa_score(*indices, labels=range(4), weights=weights))
    kappa = cohen_kappa(counts, weights).item()
    if len({*indices[0], *indices[1]}) == 1:
        assert math.isnan(kappa)
    else:
        assert kappa == pytest.approx(expected, abs=1e-12)


def test_kappa_of_empty_matrix_is_nan() -> None:
    assert math.isnan(cohen_kappa(confusion_matrix(torch.zeros(0), torch.zeros(0), CLASSES)))


def test_kappa_of_other_classes_matches_sklearn() -> None:
    counts = confusion_matrix(torch.tensor([1, 2, 3, 3]), torch.tensor([1.0, 2.0, 2.0, 3.0]), (1.0, 2.0, 3.0))
    expected = cohen_kappa_score([1, 2, 2, 3], [1, 2, 3, 3], weights="quadratic")
    assert cohen_kappa(counts, "quadratic").item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("preds", "message"),
    [
        (torch.tensor([0.7]), r"Expected values of \[-1.0, 0.0, 0.5, 1.0\] but got 0.7"),
        (torch.tensor([torch.nan]), "but got nan"),
        (torch.zeros(2), r"Expected \(n,\) classes of two raters but got \(2,\) and \(1,\)"),
        (torch.zeros(1, 1), r"Expected \(n,\) classes"),
    ],
)
def test_unknown_class_raises_value_error(preds: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confusion_matrix(preds, torch.zeros(1), CLASSES)


def test_invalid_settings_raise_value_error() -> None:
    with pytest.raises(ValueError, match="Expected `classes` to be different"):
        confusion_matrix(torch.zeros(1), torch.zeros(1), (1.0, 1.0))
    weights: Any = "cubic"
    with pytest.raises(ValueError, match="Expected `weights` to be linear, quadratic or None but got 'cubic'"):
        cohen_kappa(torch.zeros(2, 2), weights)
    with pytest.raises(ValueError, match=r"Expected a \(K, K\) confusion matrix"):
        cohen_kappa(torch.zeros(2, 3))
