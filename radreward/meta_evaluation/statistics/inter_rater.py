"""Inter-rater agreement, the reference level for metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from radreward.meta_evaluation.rated_pairs import mean_over_raters
from radreward.meta_evaluation.statistics.correlations import correlations
from radreward.metrics import cohen_kappa

Floats = NDArray[np.float64]
AGAINST_MEAN, PAIRWISE = "against_mean", "pairwise"
_MAX_EXACT_PAIRS = 50
"""Maximum number of pairs for the exact Wilcoxon test."""
_MAX_CLASSES = 11
"""Maximum number of distinct ratings for Cohen's κ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """Agreement of a rater with the mean of all others, or with one other rater; NaN if undefined.

    Attributes:
        kind: `AGAINST_MEAN` or `PAIRWISE`.
        rater_a: The rater.
        rater_b: The other rater; None for the mean of all others.
        n: Number of rows that both rated.
        tau_b: Kendall's τ-b.
        spearman: Spearman's ρ.
        pearson: Pearson's r.
        kappa: Cohen's κ of two raters; NaN if ratings are not categorical.
        difference: Mean signed difference, a minus b.
        mae: Mean absolute difference.
        std: Standard deviation of the absolute difference.
        w_wilcoxon: Statistic W of Wilcoxon's signed-rank test.
        p_wilcoxon: Its p-value.
    """

    kind: str
    rater_a: str
    rater_b: str | None
    n: int
    tau_b: float
    spearman: float
    pearson: float
    kappa: float
    difference: float
    mae: float
    std: float
    w_wilcoxon: float
    p_wilcoxon: float


def inter_rater_agreement(by_rater: Floats, raters: Sequence[str]) -> list[RaterAgreement]:
    """Return the agreement of each rater with the mean of the others, then of every two raters; empty for one rater.

    Args:
        by_rater: (R, n) ratings, NaN if a rater gave none.
        raters: R names.

    >>> ratings = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [2, 2, 3, 5]])
    >>> agreements = inter_rater_agreement(ratings, ["a", "b", "c"])
    >>> [(entry.kind, entry.rater_a, entry.rater_b, round(entry.tau_b, 2)) for entry in agreements][::3]
    [('against_mean', 'a', None, 0.91), ('pairwise', 'a', 'b', 0.67)]
    """
    agreements = []
    for index, rater in enumerate(raters if len(raters) > 1 else ()):
        others = mean_over_raters(np.delete(by_rater, index, 0))
        agreements.append(_rater_agreement(AGAINST_MEAN, rater, None, by_rater[index], others))
    agreements += [
        _rater_agreement(PAIRWISE, raters[a], raters[b], by_rater[a], by_rater[b])
        for a, b in combinations(range(len(raters)), 2)
    ]
    return agreements


def wilcoxon(x: Floats, y: Floats) -> tuple[float, float]:
    """Return W and the two-sided p-value of Wilcoxon's signed-rank test; NaN if all differences are 0.

    W is the smaller of the sums of the ranks of positive and of negative differences; differences of 0 are left out.
    The test is exact for at most 50 pairs with nonzero and distinct absolute differences. Otherwise it uses scipy's
    normal approximation.

    >>> wilcoxon(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 4, 6, 8, 10]))
    (0.0, 0.0625)
    """
    size = np.abs(x - y)
    if not size.any():
        return math.nan, math.nan
    exact = len(size) <= _MAX_EXACT_PAIRS and size.all() and len(np.unique(size)) == len(size)
    method: Literal["exact", "approx"] = "exact" if exact else "approx"
    result = stats.wilcoxon(x, y, method=method)
    return float(result.statistic), float(result.pvalue)


def _rater_agreement(kind: str, rater_a: str, rater_b: str | None, a: Floats, b: Floats) -> RaterAgreement:
    defined = ~(np.isnan(a) | np.isnan(b))
    a, b = a[defined], b[defined]
    n = len(a)
    size = np.abs(a - b)
    w, p = wilcoxon(a, b)
    return RaterAgreement(
        kind=kind,
        rater_a=rater_a,
        rater_b=rater_b,
        n=n,
        **{name: estimate.value for name, estimate in correlations(a, b).items()},
        kappa=_kappa(a, b) if kind == PAIRWISE and n else math.nan,
        difference=float((a - b).mean()) if n else math.nan,
        mae=float(size.mean()) if n else math.nan,
        std=float(size.std(ddof=1)) if n > 1 else math.nan,
        w_wilcoxon=w,
        p_wilcoxon=p,
    )


def _kappa(a: Floats, b: Floats) -> float:
    classes, index = np.unique([a, b], return_inverse=True)
    if len(classes) > _MAX_CLASSES:
        return math.nan
    counts = np.zeros((len(classes), len(classes)))
    index_a, index_b = index.reshape(2, -1)
    np.add.at(counts, (index_b, index_a), 1)
    return float(cohen_kappa(torch.from_numpy(counts)))
