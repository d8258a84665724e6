"""Cohen's κ against scikit-learn."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from radreward.metrics import cohen_kappa

CLASSES = range(4)
WEIGHTS = st.sampled_from([None, "linear", "quadratic"])
RATED = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=60)


@given(RATED, WEIGHTS)
def test_kappa_matches_sklearn(pairs: list[tuple[int, int]], weights: Any) -> None:
    first, second = zip(*pairs, strict=True)
    kappa = cohen_kappa(torch.from_numpy(confusion_matrix(first, second, labels=CLASSES)), weights).item()
    if len({*first, *second}) == 1:
        assert math.isnan(kappa)
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = float(cohen_kappa_score(first, second, labels=CLASSES, weights=weights))
    assert kappa == pytest.approx(expected, abs=1e-12)


def test_kappa_of_empty_matrix_is_nan() -> None:
    assert math.isnan(cohen_kappa(torch.zeros(4, 4)))


def test_invalid_settings_raise_value_error() -> None:
    weights: Any = "cubic"
    with pytest.raises(ValueError, match="Expected `weights` to be linear, quadratic or None but got 'cubic'"):
        cohen_kappa(torch.zeros(2, 2), weights)
    with pytest.raises(ValueError, match=r"Expected a \(K, K\) confusion matrix"):
        cohen_kappa(torch.zeros(2, 3))
