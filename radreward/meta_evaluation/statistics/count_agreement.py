"""Accuracy of a scorer's error counts, compared with the mean rater."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.statistics.inter_rater import wilcoxon

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAgreement:
    """Agreement of predicted and rated error counts.

    Attributes:
        n: Number of pairs.
        mae: Mean absolute error.
        std: Standard deviation of the absolute error.
        accuracy: Share of pairs with equal rounded counts.
        w_wilcoxon: Statistic W of Wilcoxon's signed-rank test.
        p_wilcoxon: Its p-value.
        calibration: See `calibration_bins`.
    """

    n: int
    mae: float
    std: float
    accuracy: float
    w_wilcoxon: float
    p_wilcoxon: float
    calibration: list[list[float]]


def count_agreement(predicted: Floats, target: Floats) -> CountAgreement:
    """Return the agreement of (n,) predicted counts with the (n,) counts of the mean rater, over pairs without NaN.

    >>> agreement = count_agreement(np.array([0.2, 1.6, 3.0]), np.array([0.0, 2.0, 1.0]))
    >>> round(agreement.mae, 4), round(agreement.accuracy, 4), agreement.calibration[0]
    (0.8667, 0.6667, [0.2, 0.0, 1])
    """
    defined = ~(np.isnan(predicted) | np.isnan(target))
    predicted, target = predicted[defined], target[defined]
    n = len(predicted)
    error = np.abs(predicted - target)
    rounded_predicted, rounded_target = np.floor(np.stack([predicted, target]) + 0.5)  # rounds halves up
    w, p = wilcoxon(predicted, target)
    return CountAgreement(
        n=n,
        mae=float(error.mean()) if n else np.nan,
        std=float(error.std(ddof=1)) if n > 1 else np.nan,
        accuracy=float((rounded_predicted == rounded_target).mean()) if n else np.nan,
        w_wilcoxon=w,
        p_wilcoxon=p,
        calibration=calibration_bins(predicted, target) if n else [],
    )


def calibration_bins(predicted: Floats, target: Floats) -> list[list[float]]:
    """Return the mean predicted count, the mean target and the number of pairs per bin.

    Bins are tenths of the predicted counts. Equal counts are in one bin, so there may be fewer bins.

    >>> calibration_bins(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0, 4.0]))
    [[0.0, 0.5, 2], [1.0, 1.0, 1], [2.0, 4.0, 1]]
    """
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, 11)[1:-1], method="higher"))
    bins = np.searchsorted(edges, predicted, side="right")
    return [
        [float(predicted[bins == index].mean()), float(target[bins == index].mean()), int((bins == index).sum())]
        for index in np.unique(bins)
    ]
