"""How right the errors are that a scorer counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.statistics.inter_rater import wilcoxon_p_value

Floats = NDArray[np.float64]
NUM_BINS = 10


class CountAgreement(NamedTuple):
    """Errors counted by a scorer, and by people."""

    n: int
    mae: float
    """Mean absolute difference."""
    sd: float
    """Its standard deviation over pairs."""
    accuracy: float
    """Share of pairs in which the count, rounded, is that of people, rounded."""
    p_wilcoxon: float
    """Of the paired signed-rank test that the scorer does not count more or less than the mean rater."""
    calibration: list[list[float]]
    """Bins of pairs with like counts: mean count, mean of people's, and how many pairs."""


def count_agreement(predicted: Floats, target: Floats) -> CountAgreement:
    """Figures of counts (n,) against those of the mean rater (n,), over the pairs in which both are known.

    >>> found = count_agreement(np.array([0.2, 1.6, 3.0]), np.array([0.0, 2.0, 1.0]))
    >>> round(found.mae, 4), round(found.accuracy, 4), found.calibration[0]
    (0.8667, 0.6667, [0.2, 0.0, 1])
    """
    both = ~(np.isnan(predicted) | np.isnan(target))
    predicted, target = predicted[both], target[both]
    if not len(predicted):
        return CountAgreement(0, np.nan, np.nan, np.nan, np.nan, [])
    apart = np.abs(predicted - target)
    rounded = np.floor(np.stack([predicted, target]) + 0.5)  # halves up, as people do
    return CountAgreement(
        len(apart),
        float(apart.mean()),
        float(apart.std(ddof=1)) if len(apart) > 1 else np.nan,
        float((rounded[0] == rounded[1]).mean()),
        wilcoxon_p_value(predicted, target),
        calibration_bins(predicted, target),
    )


def calibration_bins(predicted: Floats, target: Floats, num_bins: int = NUM_BINS) -> list[list[float]]:
    """Mean count, mean of people's and number of pairs in bins of as many pairs each, equal counts in one bin.

    >>> calibration(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0, 4.0]), 2)
    [[0.0, 0.5, 2], [1.5, 2.5, 2]]
    """
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, num_bins + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, predicted, side="right")
    return [
        [float(predicted[places == place].mean()), float(target[places == place].mean()), int((places == place).sum())]
        for place in np.unique(places)
    ]
