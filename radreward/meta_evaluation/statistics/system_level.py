"""Comparison of systems by a metric: mean scores, paired differences, and the order of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import ratio_interval
from radreward.statistics.paired_tests import holm, sign_flip_test

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMean:
    """Mean score of a system's candidates, with its 95 % cluster-bootstrap interval."""

    system: str
    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDifference:
    """Difference of two systems on the clusters with candidates of both; NaN if there is no such cluster.

    Attributes:
        system_a: The first system.
        system_b: The second system.
        n_clusters: Number of these clusters.
        difference: Mean over clusters of (mean score of a) - (mean score of b).
        low: Lower bound of the 95 % cluster-bootstrap interval.
        high: Upper bound.
        p: Two-sided p-value of the sign-flip test over clusters.
        p_holm: `p`, Holm-corrected for all pairs of systems.
    """

    system_a: str
    system_b: str
    n_clusters: int = 0
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    p_holm: float = math.nan


def system_means(
    scores: Floats, cluster_ids: Ints, system_ids: Ints, names: Sequence[str], resample_counts: NDArray[np.integer]
) -> list[SystemMean]:
    """Return the mean score of each system.

    Args:
        scores: (n,), NaN if missing.
        cluster_ids: (n,) cluster of each row, 0 to G - 1.
        system_ids: (n,) index of the system in `names`, negative if unknown.
        names: Names of the systems.
        resample_counts: (B, G) number of times each cluster is in each resample.

    >>> counts = np.array([[2, 0], [0, 2], [1, 1]])
    >>> system_means(np.array([1.0, 3.0]), np.array([0, 1]), np.array([0, 0]), ["a"], counts)
    [SystemMean(system='a', n=2, mean=2.0, low=1.05, high=2.95)]
    """
    means = []
    for index, name in enumerate(names):
        rows = (system_ids == index) & ~np.isnan(scores)
        sums, sizes = _sum_by_cluster(scores[rows], cluster_ids[rows], resample_counts.shape[1])
        low = high = mean = math.nan
        if rows.any():
            mean = float(scores[rows].mean())
            low, high = ratio_interval(sums, sizes, resample_counts)
        means.append(SystemMean(system=name, n=int(rows.sum()), mean=mean, low=low, high=high))
    return means


def system_differences(
    scores: Floats,
    cluster_ids: Ints,
    system_ids: Ints,
    names: Sequence[str],
    resample_counts: NDArray[np.integer],
    seed: int = 0,
) -> list[SystemDifference]:
    """Return the difference of every two systems, paired by clusters.

    Args:
        scores: See `system_means`, as for the next four arguments.
        cluster_ids: (n,).
        system_ids: (n,).
        names: Names of the systems.
        resample_counts: (B, G).
        seed: Seed of the sign-flip tests.

    >>> scores, system = np.array([1.0, 2, 2, 4, 3, 5]), np.array([0, 1] * 3)
    >>> cluster, counts = np.array([0, 0, 1, 1, 2, 2]), np.ones((1, 3), int)
    >>> [entry] = system_differences(scores, cluster, system, ["a", "b"], counts)
    >>> entry.system_a, entry.system_b, entry.n_clusters, round(entry.difference, 3), entry.p
    ('a', 'b', 3, -1.667, 0.25)
    """
    means = []
    for index in range(len(names)):
        rows = (system_ids == index) & ~np.isnan(scores)
        sums, sizes = _sum_by_cluster(scores[rows], cluster_ids[rows], resample_counts.shape[1])
        with np.errstate(invalid="ignore"):
            means.append(sums / sizes)  # (G,), NaN without a candidate of the system
    entries = []
    for a, b in combinations(range(len(names)), 2):
        differences = means[a] - means[b]
        paired = ~np.isnan(differences)
        entry = SystemDifference(system_a=names[a], system_b=names[b], n_clusters=int(paired.sum()))
        if paired.any():
            differences = differences[paired]
            low, high = ratio_interval(differences, np.ones_like(differences), resample_counts[:, paired])
            p = float(sign_flip_test(differences[:, None], seed)[0])
            entry = replace(entry, difference=float(differences.mean()), low=low, high=high, p=p)
        entries.append(entry)
    corrected = holm([entry.p for entry in entries])
    return [replace(entry, p_holm=p) for entry, p in zip(entries, corrected, strict=True)]


def system_rank_agreement(means: Floats, rater_means: Floats) -> tuple[float, int]:
    """Return τ-b between the means of systems by a metric and by raters, and the number of systems with both means.

    Higher is better in both. τ-b is NaN for fewer than two systems or constant means.

    >>> system_rank_agreement(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]))[1]
    3
    """
    defined = ~(np.isnan(means) | np.isnan(rater_means))
    x, y = means[defined], rater_means[defined]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, len(x)
    return float(stats.kendalltau(x, y).statistic), len(x)


def _sum_by_cluster(values: Floats, cluster_ids: Ints, n_clusters: int) -> tuple[Floats, Floats]:
    """Return (G,) sums of the values, and (G,) numbers of rows."""
    sizes = np.bincount(cluster_ids, minlength=n_clusters).astype(np.float64)
    return np.bincount(cluster_ids, values, n_clusters).astype(np.float64), sizes
