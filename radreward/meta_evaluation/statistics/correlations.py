"""Correlations of scorers with targets, pooled and within systems, with cluster-bootstrap intervals."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import bootstrap_correlations, counts_of_clusters, percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CORRELATIONS = ("tau_b", "spearman", "pearson")


class Estimate(NamedTuple):
    """A statistic, its 95 % interval, and the p-value of no correlation; NaN if undefined or not computed."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAgreement:
    """Agreement of one scorer with one target.

    Attributes:
        n: Number of rows with both a score and a target value.
        n_clusters: Number of clusters of these rows.
        tau_b: Kendall's τ-b.
        spearman: Spearman's ρ.
        pearson: Pearson's r.
        note: Reason for an undefined value, or a caveat.
    """

    n: int = 0
    n_clusters: int = 0
    tau_b: Estimate = Estimate()
    spearman: Estimate = Estimate()
    pearson: Estimate = Estimate()
    note: str | None = None


def correlations(x: Floats, y: Floats) -> dict[str, Estimate]:
    """Return Kendall's τ-b, Spearman's ρ and Pearson's r with p-values, over the rows without NaN.

    Args:
        x: (n,), NaN if missing.
        y: (n,), NaN if missing.

    Returns:
        Estimates without intervals, by the names in `CORRELATIONS`; NaN for fewer than two rows or if x or y is
        constant.

    >>> estimates = correlations(np.array([1.0, 2, 3, 4, np.nan]), np.array([1.0, 3, 2, 4, 5]))
    >>> [round(estimates[name].value, 4) for name in CORRELATIONS]
    [0.6667, 0.8, 0.8]
    """
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y = x[defined], y[defined]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return dict.fromkeys(CORRELATIONS, Estimate())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)  # Pearson's r is then imprecise but defined
        results = (stats.kendalltau(x, y), stats.spearmanr(x, y), stats.pearsonr(x, y))
    return {
        name: Estimate(float(result.statistic), p=float(result.pvalue))
        for name, result in zip(CORRELATIONS, results, strict=True)
    }


def correlate_all(
    x: Floats, y: Floats, cluster_ids: Ints, resample_counts: NDArray[np.integer]
) -> list[list[TargetAgreement]]:
    """Return the agreement of every scorer with every target, over the rows that have both values.

    Args:
        x: (S, n) scores, NaN if missing.
        y: (T, n) targets, NaN if missing.
        cluster_ids: (n,) cluster of each row, 0 to G - 1.
        resample_counts: (B, G) number of times each cluster is in each resample.

    Returns:
        S lists with T entries.

    >>> x, y = np.array([[1.0, 2, 3, np.nan]]), np.array([[2.0, 2, 5, 1]])
    >>> [[agreement]] = correlate_all(x, y, np.arange(4), np.ones((0, 4), dtype=np.int64))
    >>> agreement.n, round(agreement.tau_b.value, 4)
    (3, 0.8165)
    """
    agreements = [[TargetAgreement()] * len(y) for _ in x]
    for scorers, targets, rows in _group_by_missingness(x, y):
        clusters, cluster = np.unique(cluster_ids[rows], return_inverse=True)
        n_clusters = len(clusters)
        intervals = np.full((len(CORRELATIONS), 2, len(scorers), len(targets)), np.nan)
        if len(resample_counts) and n_clusters > 1:
            counts = counts_of_clusters(resample_counts, clusters)
            samples = bootstrap_correlations(x[scorers][:, rows], y[targets][:, rows], cluster, counts)
            intervals[:] = [percentile_interval(sample) for sample in samples]
        for (i, scorer), (j, target) in product(enumerate(scorers), enumerate(targets)):
            scores, values = x[scorer][rows], y[target][rows]
            agreements[scorer][target] = TargetAgreement(
                n=int(rows.sum()),
                n_clusters=n_clusters,
                **_with_intervals(correlations(scores, values), intervals[:, :, i, j]),
                note=_note(scores, values, n_clusters),
            )
    return agreements


def correlate_within_systems(
    x: Floats, y: Floats, cluster_ids: Ints, system_ids: Ints, resample_counts: NDArray[np.integer]
) -> list[list[TargetAgreement]]:
    """Return correlations within each system, averaged over systems with their numbers of rows as weights.

    Differences between systems have no effect: by style alone, a metric can separate good systems from bad ones. There
    is no p-value. All systems share the resamples of clusters. Systems with an undefined correlation are left out.

    Args:
        x: (S, n) scores, NaN if missing.
        y: (T, n) targets, NaN if missing.
        cluster_ids: (n,) cluster of each row, 0 to G - 1.
        system_ids: (n,) system of each row, negative if unknown; these rows are left out.
        resample_counts: (B, G) number of times each cluster is in each resample.

    Returns:
        S lists with T entries.
    """
    agreements = [[TargetAgreement()] * len(y) for _ in x]
    for scorers, targets, rows in _group_by_missingness(x, y):
        parts = [rows & (system_ids == system) for system in np.unique(system_ids[rows & (system_ids >= 0)])]
        values = np.full((len(CORRELATIONS), len(parts), len(scorers), len(targets)), np.nan)
        samples = np.full((len(CORRELATIONS), len(parts), len(resample_counts), len(scorers), len(targets)), np.nan)
        for k, part in enumerate(parts):
            clusters, cluster = np.unique(cluster_ids[part], return_inverse=True)
            for (i, scorer), (j, target) in product(enumerate(scorers), enumerate(targets)):
                estimates = correlations(x[scorer][part], y[target][part])
                values[:, k, i, j] = [estimates[name].value for name in CORRELATIONS]
            counts = counts_of_clusters(resample_counts, clusters)
            samples[:, k] = bootstrap_correlations(x[scorers][:, part], y[targets][:, part], cluster, counts)
        sizes = np.array([part.sum() for part in parts], dtype=np.float64)
        means = _weighted_mean(values, sizes)
        intervals = np.full((len(CORRELATIONS), 2, len(scorers), len(targets)), np.nan)
        if len(resample_counts) and parts:
            intervals[:] = [percentile_interval(sample) for sample in _weighted_mean(samples, sizes)]
        included = np.logical_or.reduce(parts) if parts else np.zeros(len(cluster_ids), np.bool_)
        for (i, scorer), (j, target) in product(enumerate(scorers), enumerate(targets)):
            estimates = {name: Estimate(float(mean)) for name, mean in zip(CORRELATIONS, means[:, i, j], strict=True)}
            n_defined = int((~np.isnan(values[0, :, i, j])).sum())
            agreements[scorer][target] = TargetAgreement(
                n=int(included.sum()),
                n_clusters=len(np.unique(cluster_ids[included])),
                **_with_intervals(estimates, intervals[:, :, i, j]),
                note=None if n_defined == len(parts) else f"defined in {n_defined} of {len(parts)} systems",
            )
    return agreements


def _group_by_missingness(x: Floats, y: Floats) -> list[tuple[list[int], list[int], NDArray[np.bool_]]]:
    """Return groups of scorers and targets with values in the same rows, so that each group is resampled once.

    Returns:
        For each group, the indices of its scorers and of its targets, and the (n,) mask of rows with all values.
    """

    def group(values: Floats) -> dict[bytes, list[int]]:
        groups: dict[bytes, list[int]] = {}
        for index, defined in enumerate(~np.isnan(values)):
            groups.setdefault(defined.tobytes(), []).append(index)
        return groups

    return [
        (scorers, targets, np.frombuffer(x_mask, np.bool_) & np.frombuffer(y_mask, np.bool_))
        for x_mask, scorers in group(x).items()
        for y_mask, targets in group(y).items()
    ]


def _with_intervals(estimates: dict[str, Estimate], intervals: Floats) -> dict[str, Estimate]:
    """Add the (3, 2) lower and upper bounds to the estimates."""
    return {
        name: estimates[name]._replace(low=float(low), high=float(high))
        for name, (low, high) in zip(CORRELATIONS, intervals, strict=True)
    }


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the means of (3, K, ...) values over the second axis with (K,) weights, ignoring NaN."""
    weights = weights.reshape(-1, *[1] * (values.ndim - 2)) * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Floats = (np.nan_to_num(values) * weights).sum(1) / weights.sum(1)
    return means


def _note(x: Floats, y: Floats, n_clusters: int) -> str | None:
    if len(x) < 2:
        return "fewer than two pairs have both a score and a target value"
    if np.ptp(x) == 0:
        return f"all scores are {x[0]:g}"
    if np.ptp(y) == 0:
        return f"all target values are {y[0]:g}"
    return "only one case: no interval" if n_clusters < 2 else None
