"""Statistics of how scores agree with people, of arrays alone; where a statistic is of one sample, it is scipy's."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import bootstrap_correlations, percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CORRELATIONS = ("tau_b", "spearman", "pearson")


class Estimate(NamedTuple):
    """A value, its 95 % interval and the p of the hypothesis that it is 0; NaN where not defined."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


class TargetAgreement(NamedTuple):
    """How one scorer agrees with one target."""

    n: int
    """Rows in which both are known."""
    n_clusters: int
    tau_b: Estimate = Estimate()
    spearman: Estimate = Estimate()
    pearson: Estimate = Estimate()
    note: str | None = None
    """Why a value is not defined, or what is to be known of it."""


def correlations(x: Floats, y: Floats) -> dict[str, Estimate]:
    """Kendall's τ-b, Spearman's ρ and Pearson's r with p, over the rows in which both are known (scipy's).

    Args:
        x: (n,), NaN where unknown.
        y: (n,) likewise.

    Returns:
        By the names in `NAMES`, without intervals; NaN for fewer than two rows or a constant side.

    >>> found = correlations(np.array([1.0, 2, 3, 4, np.nan]), np.array([1.0, 3, 2, 4, 5]))
    >>> [round(found[name].value, 4) for name in NAMES]
    [0.6667, 0.8, 0.8]
    """
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return dict.fromkeys(CORRELATIONS, Estimate())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)  # r is what rounding leaves of it
        found = (stats.kendalltau(x, y), stats.spearmanr(x, y), stats.pearsonr(x, y))
    return {
        name: Estimate(float(one.statistic), p=float(one.pvalue)) for name, one in zip(CORRELATIONS, found, strict=True)
    }


def correlate_all(
    x: Floats, y: Floats, cluster_ids: Ints, resample_counts: NDArray[np.integer]
) -> list[list[TargetAgreement]]:
    """Agreement of every scorer with every target, each over the rows in which both are known.

    Args:
        x: (S, n) scores, NaN where unknown.
        y: (T, n) targets, likewise.
        case: (n,) which case, 0 to G - 1.
        counts: (B, G) how often each case is in each draw.

    Returns:
        S lists of T.

    >>> x, y = np.array([[1.0, 2, 3, np.nan]]), np.array([[2.0, 2, 5, 1]])
    >>> [[found]] = agreements(x, y, np.arange(4), np.ones((0, 4), dtype=np.int64))
    >>> found.n, round(found.tau_b.value, 4)
    (3, 0.8165)
    """
    found = [[TargetAgreement(0, 0)] * len(y) for _ in x]
    for ones, others, rows in group_by_missingness(x, y):
        some, where = np.unique(cluster_ids[rows], return_inverse=True)
        ends: list[tuple[Floats, Floats]] = []
        if len(resample_counts) and len(some) > 1:
            drawn = bootstrap_correlations(x[ones][:, rows], y[others][:, rows], where, resample_counts[:, some])
            ends = [percentile_interval(each) for each in drawn]
        for (place, one), (other, target) in product(enumerate(ones), enumerate(others)):
            values = correlations(x[one][rows], y[target][rows])
            for name, (low, high) in zip(CORRELATIONS, ends, strict=False):
                values[name] = values[name]._replace(low=float(low[place, other]), high=float(high[place, other]))
            note = _note(x[one][rows], y[target][rows], len(some))
            found[one][target] = TargetAgreement(int(rows.sum()), len(some), **values, note=note)
    return found


def correlate_within_systems(
    x: Floats, y: Floats, cluster_ids: Ints, system_ids: Ints, resample_counts: NDArray[np.integer]
) -> list[list[TargetAgreement]]:
    """Agreement within systems: the mean over systems of each one's correlation, weighed by its rows.

    Who wrote a candidate is no part of it: candidates of a good and of a bad system are told apart by style alone.
    There is no p; the interval is of the same draws of cases in all systems. Systems in which a correlation is not
    defined do not count.

    Args:
        x: (S, n) scores, NaN where unknown.
        y: (T, n) targets, likewise.
        case: (n,) which case, 0 to G - 1.
        system: (n,) which system; rows with a number below 0 have none and are left out.
        counts: (B, G) how often each case is in each draw.
    """
    found = [[TargetAgreement(0, 0)] * len(y) for _ in x]
    for ones, others, rows in group_by_missingness(x, y):
        parts = [rows & (system_ids == number) for number in np.unique(system_ids[rows & (system_ids >= 0)])]
        values = np.full((3, len(parts), len(ones), len(others)), np.nan)
        drawn = np.full((3, len(parts), len(resample_counts), len(ones), len(others)), np.nan)
        for number, part in enumerate(parts):
            some, where = np.unique(cluster_ids[part], return_inverse=True)
            for (place, one), (other, target) in product(enumerate(ones), enumerate(others)):
                told = correlations(x[one][part], y[target][part])
                values[:, number, place, other] = [told[name].value for name in CORRELATIONS]
            drawn[:, number] = bootstrap_correlations(
                x[ones][:, part], y[others][:, part], where, resample_counts[:, some]
            )
        weights = np.array([part.sum() for part in parts], dtype=np.float64)
        means = _weighted_mean(values, weights)
        ends = (
            [percentile_interval(each) for each in _weighted_mean(drawn, weights)]
            if len(resample_counts) and parts
            else []
        )
        inside = np.logical_or.reduce(parts) if parts else np.zeros(len(cluster_ids), np.bool_)
        for (place, one), (other, target) in product(enumerate(ones), enumerate(others)):
            told = {name: Estimate(float(means[at, place, other])) for at, name in enumerate(CORRELATIONS)}
            for name, (low, high) in zip(CORRELATIONS, ends, strict=False):
                told[name] = told[name]._replace(low=float(low[place, other]), high=float(high[place, other]))
            defined = int((~np.isnan(values[0, :, place, other])).sum())
            note = None if defined == len(parts) else f"defined in {defined} of {len(parts)} systems"
            found[one][target] = TargetAgreement(
                int(inside.sum()), len(np.unique(cluster_ids[inside])), **told, note=note
            )
    return found


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Mean over the second axis of (3, K, ...), by weights (K,), of what is not NaN."""
    given = weights.reshape(-1, *[1] * (values.ndim - 2)) * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Floats = (np.nan_to_num(values) * given).sum(1) / given.sum(1)
    return means


def group_by_missingness(x: Floats, y: Floats) -> list[tuple[list[int], list[int], NDArray[np.bool_]]]:
    """Scorers and targets that are known in the same rows, which are then drawn together."""

    def alike(values: Floats) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for place, known in enumerate(~np.isnan(values)):
            found.setdefault(known.tobytes(), []).append(place)
        return found

    return [
        (ones, others, np.frombuffer(left, np.bool_) & np.frombuffer(right, np.bool_))
        for left, ones in alike(x).items()
        for right, others in alike(y).items()
    ]


def _note(x: Floats, y: Floats, n_clusters: int) -> str | None:
    if len(x) < 2:
        return "fewer than two pairs have both a score and a value"
    if (x == x[0]).all():
        return f"all scores are {x[0]:g}"
    if (y == y[0]).all():
        return f"all values are {y[0]:g}"
    return "one case only: no interval" if n_clusters < 2 else None
