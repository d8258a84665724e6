"""How far people agree with each other: what a metric can reach at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from radreward.meta_evaluation.statistics.correlations import correlations
from radreward.metrics import cohen_kappa, confusion_matrix

Floats = NDArray[np.float64]
AGAINST_MEAN, PAIRWISE = "against_others", "pairwise"
_MAX_EXACT_PAIRS = 50
"""Of so many pairs all signs are gone through."""
_MAX_CLASSES = 11
"""Ratings with more different values are no classes."""


class RaterAgreement(NamedTuple):
    """One rater and the mean of the others, or one other."""

    kind: str
    rater_a: str
    rater_b: str | None
    n: int
    """Rows that both judged."""
    tau_b: float
    spearman: float
    pearson: float
    kappa: float
    """Cohen's κ of two raters; NaN where values are no classes."""
    difference: float
    """Mean of the rater's values less the others'."""
    mae: float
    sd: float
    """Mean and SD of its absolute value."""
    p_wilcoxon: float
    """Of the paired signed-rank test that the rater's values are not higher or lower than the others'."""


def inter_rater_agreement(by_rater: Floats, raters: Sequence[str]) -> list[RaterAgreement]:
    """Each rater against the mean of the others, and every two; empty for one rater.

    Args:
        by_rater: (R, n), NaN where a rater gave none.
        raters: Their R names.

    >>> found = between_raters(np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [2, 2, 3, 5]]), ["a", "b", "c"])
    >>> [(one.kind, one.rater, one.other, round(one.tau_b, 2)) for one in found][::3]
    [('against_others', 'a', None, 0.91), ('pairwise', 'a', 'b', 0.67)]
    """
    found = []
    for place, rater in enumerate(raters if len(raters) > 1 else ()):
        others = np.delete(by_rater, place, 0)
        given = ~np.isnan(others)
        with np.errstate(invalid="ignore"):
            mean = np.where(given, others, 0).sum(0) / given.sum(0)
        found.append(_rater_agreement(AGAINST_MEAN, rater, None, by_rater[place], mean))
    found += [
        _rater_agreement(PAIRWISE, raters[one], raters[other], by_rater[one], by_rater[other])
        for one, other in combinations(range(len(raters)), 2)
    ]
    return found


def wilcoxon_p_value(x: Floats, y: Floats) -> float:
    """Two-sided p of Wilcoxon's signed-rank test of paired values; NaN where no pair differs.

    Exact for up to 50 pairs whose differences all differ in size, else by the normal approximation (scipy's).

    >>> wilcoxon(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 4, 6, 8, 10]))
    0.0625
    """
    apart = np.abs(x - y)
    if not apart.any():
        return math.nan
    exact = len(apart) <= _MAX_EXACT_PAIRS and apart.all() and len(np.unique(apart)) == len(apart)
    method: Literal["exact", "approx"] = "exact" if exact else "approx"
    return float(stats.wilcoxon(x, y, method=method).pvalue)


def _rater_agreement(kind: str, rater: str, other: str | None, one: Floats, two: Floats) -> RaterAgreement:
    both = ~(np.isnan(one) | np.isnan(two))
    one, two = one[both], two[both]
    values = correlations(one, two)
    apart = one - two
    some = len(apart) > 0
    size = np.abs(apart)
    return RaterAgreement(
        kind,
        rater,
        other,
        len(apart),
        values["tau_b"].value,
        values["spearman"].value,
        values["pearson"].value,
        _kappa(one, two) if kind == PAIRWISE and some else math.nan,
        float(apart.mean()) if some else math.nan,
        float(size.mean()) if some else math.nan,
        float(size.std(ddof=1)) if len(apart) > 1 else math.nan,
        wilcoxon_p_value(one, two),
    )


def _kappa(one: Floats, two: Floats) -> float:
    classes = np.union1d(one, two)
    if len(classes) > _MAX_CLASSES:
        return math.nan
    counts = confusion_matrix(torch.from_numpy(one), torch.from_numpy(two), classes.tolist())
    return float(cohen_kappa(counts))
