"""Which system writes better reports, by a metric: what metrics are for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import percentile_interval, weighted_sums
from radreward.statistics.paired_tests import holm, sign_flip_test

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SystemMean(NamedTuple):
    """A metric's mean over the candidates of a system."""

    system: str
    n: int
    mean: float
    low: float
    """Lower end of the 95 % interval, over cases drawn anew."""
    high: float


class SystemDifference(NamedTuple):
    """Two systems in the cases for which both wrote."""

    system_a: str
    system_b: str
    n_clusters: int
    difference: float
    """Mean over cases of the first's mean score less the other's."""
    low: float
    high: float
    p: float
    """Of the sign-flip test over cases, two-sided."""
    p_holm: float


def system_means(
    scores: Floats, cluster_ids: Ints, system_ids: Ints, names: Sequence[str], resample_counts: NDArray[np.integer]
) -> list[SystemMean]:
    """Mean score of each system.

    Args:
        scores: (n,), NaN where there is none.
        case: (n,) which case, 0 to G - 1.
        system: (n,) number of the system among the names, below 0 where there is none.
        names: Of the systems.
        counts: (B, G) how often each case is in each draw.

    >>> counts = np.array([[2, 0], [0, 2], [1, 1]])
    >>> system_means(np.array([1.0, 3.0]), np.array([0, 1]), np.array([0, 0]), ["a"], counts)
    [SystemMean(system='a', n=2, mean=2.0, low=1.05, high=2.95)]
    """
    found = []
    for number, name in enumerate(names):
        rows = (system_ids == number) & ~np.isnan(scores)
        sums, sizes = _sum_by_cluster(scores[rows], cluster_ids[rows], resample_counts.shape[1])
        with np.errstate(invalid="ignore"):
            low, high = (
                percentile_interval(weighted_sums(sums, resample_counts.T) / weighted_sums(sizes, resample_counts.T))
                if len(resample_counts) and rows.any()
                else (np.nan,) * 2
            )
        mean = float(scores[rows].mean()) if rows.any() else math.nan
        found.append(SystemMean(name, int(rows.sum()), mean, float(low), float(high)))
    return found


def system_differences(
    scores: Floats,
    cluster_ids: Ints,
    system_ids: Ints,
    names: Sequence[str],
    resample_counts: NDArray[np.integer],
    seed: int = 0,
) -> list[SystemDifference]:
    """Every two systems, paired by cases; arguments as of `system_means`, `seed` of the tests.

    >>> scores, system = np.array([1.0, 2, 2, 4, 3, 5]), np.array([0, 1] * 3)
    >>> [found] = system_differences(scores, np.array([0, 0, 1, 1, 2, 2]), system, ["a", "b"], np.ones((1, 3), int))
    >>> found.one, found.other, found.cases, round(found.difference, 3), found.p
    ('a', 'b', 3, -1.667, 0.25)
    """
    means = []
    for number in range(len(names)):
        rows = (system_ids == number) & ~np.isnan(scores)
        sums, sizes = _sum_by_cluster(scores[rows], cluster_ids[rows], resample_counts.shape[1])
        with np.errstate(invalid="ignore"):
            means.append(sums / sizes)  # (G,), NaN where the system wrote nothing
    found = []
    for one, other in combinations(range(len(names)), 2):
        apart = means[one] - means[other]
        both = ~np.isnan(apart)
        if not both.any():
            found.append(SystemDifference(names[one], names[other], 0, *[math.nan] * 5))
            continue
        drawn = resample_counts[:, both]
        with np.errstate(invalid="ignore"):
            low, high = (
                percentile_interval(weighted_sums(apart[both], drawn.T) / drawn.sum(1))
                if len(resample_counts)
                else (np.nan,) * 2
            )
        p = float(sign_flip_test(apart[both][:, None], seed)[0])
        mean = float(apart[both].mean())
        found.append(SystemDifference(names[one], names[other], int(both.sum()), mean, float(low), float(high), p, p))
    corrected = holm([entry.p for entry in found])
    return [entry._replace(p_holm=p) for entry, p in zip(found, corrected, strict=True)]


def system_rank_agreement(means: Floats, rater_means: Floats) -> tuple[float, int]:
    """τ-b of the systems' means by a metric with those by people, higher is better in both, and of how many systems.

    NaN for fewer than two systems or where all are equal.

    >>> rank_agreement(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]))[1]
    3
    """
    both = ~(np.isnan(means) | np.isnan(rater_means))
    x, y = means[both], rater_means[both]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return math.nan, len(x)
    return float(stats.kendalltau(x, y).statistic), len(x)


def _sum_by_cluster(values: Floats, cluster_ids: Ints, n_clusters: int) -> tuple[Floats, Floats]:
    """(G,) sums of values, and how many they are."""
    sizes = np.bincount(cluster_ids, minlength=n_clusters).astype(np.float64)
    return np.bincount(cluster_ids, values, n_clusters).astype(np.float64), sizes
