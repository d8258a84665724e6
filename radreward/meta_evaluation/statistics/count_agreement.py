"""How right the errors are that a scorer counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.statistics.inter_rater import wilcoxon

Floats = NDArray[np.float64]
BINS = 10


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


def count_agreement(counted: Floats, known: Floats) -> CountAgreement:
    """Figures of counts (n,) against those of the mean rater (n,), over the pairs in which both are known.

    >>> found = count_agreement(np.array([0.2, 1.6, 3.0]), np.array([0.0, 2.0, 1.0]))
    >>> round(found.mae, 4), round(found.accuracy, 4), found.calibration[0]
    (0.8667, 0.6667, [0.2, 0.0, 1])
    """
    both = ~(np.isnan(counted) | np.isnan(known))
    counted, known = counted[both], known[both]
    if not len(counted):
        return CountAgreement(0, np.nan, np.nan, np.nan, np.nan, [])
    apart = np.abs(counted - known)
    rounded = np.floor(np.stack([counted, known]) + 0.5)  # halves up, as people do
    return CountAgreement(
        len(apart),
        float(apart.mean()),
        float(apart.std(ddof=1)) if len(apart) > 1 else np.nan,
        float((rounded[0] == rounded[1]).mean()),
        wilcoxon(counted, known),
        calibration(counted, known),
    )


def calibration(counted: Floats, known: Floats, bins: int = BINS) -> list[list[float]]:
    """Mean count, mean of people's and number of pairs in bins of as many pairs each, equal counts in one bin.

    >>> calibration(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0, 4.0]), 2)
    [[0.0, 0.5, 2], [1.5, 2.5, 2]]
    """
    edges = np.unique(np.quantile(counted, np.linspace(0, 1, bins + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, counted, side="right")
    return [
        [float(counted[places == place].mean()), float(known[places == place].mean()), int((places == place).sum())]
        for place in np.unique(places)
    ]
