"""Cluster bootstrap of rank correlations and of the area under the ROC curve, for all resamples and scorers at once.

Rows of a cluster (such as a study) are not independent, so clusters are resampled, not rows. A resample is stored as
the number of times each cluster occurs in it. Statistics are computed on rows weighted by these counts, so that a
thousand resamples need only a few matrix products.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.statistics.weighted_concordance import MAX_ARRAY_ELEMENTS, ClusteredRows, ConcordanceForm, untied_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BootstrapCorrelations(NamedTuple):
    """(B, S, T) correlations of S scorers with T targets in B resamples; NaN if scores or targets are constant."""

    tau_b: Floats
    spearman: Floats
    pearson: Floats


def resample_clusters(n_clusters: int, n_resamples: int, seed: int) -> NDArray[np.uint8]:
    """Return the (B, G) number of times that each of G clusters occurs in each of B resamples with replacement."""
    rng, probabilities = np.random.default_rng(seed), np.full(n_clusters, 1 / max(1, n_clusters))
    # One byte per count saves memory. No count exceeds G; for G > 255, a count above 255 has a probability < 1e-400.
    counts = np.zeros((n_resamples, n_clusters), dtype=np.uint8)
    step = max(1, MAX_ARRAY_ELEMENTS // max(1, n_clusters))
    for start in range(0, n_resamples if n_clusters else 0, step):
        size = min(step, n_resamples - start)
        counts[start : start + step] = rng.multinomial(n_clusters, probabilities, size)
    return counts


def counts_of_clusters(counts: NDArray[np.integer], clusters: Ints) -> NDArray[np.integer]:
    """Return the columns of some clusters from (B, G) counts, without a copy if these are all clusters."""
    return counts if len(clusters) == counts.shape[1] else counts[:, clusters]


def weighted_sums(values: Floats, weights: NDArray[np.generic]) -> Floats:
    """Return the (B,) sums of (G,) values with (G, B) weights; weights are converted to float64 in chunks.

    >>> weighted_sums(np.array([1.0, 10.0]), np.array([[2, 0], [0, 1]], dtype=np.uint8)).tolist()
    [2.0, 10.0]
    """
    sums = np.empty(weights.shape[1])
    step = max(1, MAX_ARRAY_ELEMENTS // max(1, len(weights)))
    for start in range(0, len(sums), step):
        sums[start : start + step] = values @ weights[:, start : start + step].astype(np.float64)
    return sums


def percentile_interval(samples: Floats) -> tuple[Floats, Floats]:
    """Return the percentiles 2.5 and 97.5 of (B, ...) samples over B, (...) each.

    Undefined samples (NaN) are left out; the result is NaN if all are undefined.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    return low, high


def ratio_interval(sums: Floats, sizes: Floats, resample_counts: NDArray[np.integer]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of Σ sums / Σ sizes over clusters, for example of a mean over rows.

    Args:
        sums: (G,) sum of each cluster.
        sizes: (G,) number of rows of each cluster. Resamples without any row are left out.
        resample_counts: (B, G) number of times each cluster is in each resample.

    Returns:
        Lower and upper bound; NaN without resamples.

    >>> ratio_interval(np.array([1.0, 3.0]), np.ones(2), np.array([[2, 0], [0, 2], [1, 1]]))
    (1.05, 2.95)
    """
    if not len(resample_counts):
        return math.nan, math.nan
    counts = resample_counts.T
    with np.errstate(invalid="ignore"):
        low, high = percentile_interval(weighted_sums(sums, counts) / weighted_sums(sizes, counts))
    return float(low), float(high)


def bootstrap_correlations(x: Floats, y: Floats, cluster: Ints, counts: NDArray[np.integer]) -> BootstrapCorrelations:
    """Return τ-b, ρ and r of every x with every y in every resample, equal to the results of scipy on repeated rows.

    Args:
        x: (S, n) without NaN.
        y: (T, n) without NaN.
        cluster: (n,) cluster index, 0 to G - 1.
        counts: (B, G) number of times each cluster is in each resample.

    >>> x, y = np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 3, 2, 4]])
    >>> once = bootstrap_correlations(x, y, np.arange(4), np.ones((1, 4), dtype=np.int64))
    >>> [round(float(value[0, 0, 0]), 4) for value in once]
    [0.6667, 0.8, 0.8]
    """
    variables = [_RankedVariable(values) for values in (*x, *y)]
    rho, r = np.empty((2, len(counts), len(x), len(y)))
    step = max(1, MAX_ARRAY_ELEMENTS // (len(cluster) * len(variables)))
    for start in range(0, len(counts), step):
        chunk = slice(start, start + step)
        weights = counts[chunk][:, cluster].astype(np.float64)  # (b, n)
        pairs = [(variable, variable.ties(weights)) for variable in variables]
        ranks = np.stack([_standardize(variable.ranks(ties), weights, ties) for variable, ties in pairs], 1)
        values = np.stack([_standardize(variable.values, weights, ties) for variable, ties in pairs], 1)
        for output, table in ((rho, ranks), (r, values)):  # tables (b, S + T, n)
            output[chunk] = table[:, : len(x)] @ table[:, len(x) :].transpose(0, 2, 1)
    return BootstrapCorrelations(bootstrap_tau(x, y, cluster, counts), np.clip(rho, -1, 1), np.clip(r, -1, 1))


class _RankedVariable:
    """A variable with its unique values."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        is_new = np.r_[True, ordered[1:] != ordered[:-1]]
        self._starts = np.flatnonzero(is_new)
        self._unique_index = np.empty(len(values), dtype=np.int64)
        self._unique_index[self._order] = is_new.cumsum() - 1

    def ties(self, weights: Floats) -> Floats:
        """Return the (b, U) weight of each unique value in each resample, from (b, n) row weights."""
        ties: Floats = np.add.reduceat(weights[:, self._order], self._starts, axis=1)
        return ties

    def ranks(self, ties: Floats) -> Floats:
        """Return the (b, n) ranks in each resample; ties get their mean rank."""
        ranks: Floats = (ties.cumsum(1) - (ties - 1) / 2)[:, self._unique_index]
        return ranks


def _standardize(values: Floats, weights: Floats, ties: Floats) -> Floats:
    """Return (b, n) values, scaled so that the dot product of two variables is their correlation in each resample."""
    with np.errstate(invalid="ignore", divide="ignore"):  # for resamples without any of these rows
        mean = (weights * values).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
        deviation = (values - mean) * np.sqrt(weights)
        norm = np.sqrt((deviation**2).sum(1, keepdims=True))
        norm[(ties > 0).sum(1) < 2] = np.nan
        standardized: Floats = deviation / norm
    return standardized


def bootstrap_tau(x: Floats, y: Floats, cluster: Ints, counts: NDArray[np.integer]) -> Floats:
    """Return the (B, S, T) values of τ-b: (concordant - discordant) / √(pairs untied in x · pairs untied in y).

    See `bootstrap_correlations` for the arguments.
    """
    weights = np.ascontiguousarray(counts.T)
    difference = np.empty((len(counts), len(x), len(y)))
    for i, x_values in enumerate(x):
        for j, y_values in enumerate(y):
            rows = ClusteredRows(x_values, y_values, cluster)
            difference[:, i, j] = ConcordanceForm(rows, rows, len(weights)).evaluate(weights)
    untied_x, untied_y = (np.sqrt([untied_pairs(values, cluster, weights) for values in side]).T for side in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = difference / (untied_x[:, :, None] * untied_y[:, None])
    return np.clip(tau, -1, 1)


def bootstrap_auc(x: Floats, has_error: NDArray[np.bool_], cluster: Ints, counts: NDArray[np.integer]) -> Floats:
    """Return the area under the ROC curve in every resample: P(x without an error > x with one), ties as one half.

    This is (1 + (C - D) / P) / 2 with C concordant and D discordant pairs among the P pairs of a row with and a row
    without an error; NaN if P is 0.

    Args:
        x: (n,) scores without NaN.
        has_error: (n,) True for rows with an error.
        cluster: (n,) cluster index, 0 to G - 1.
        counts: (B, G) number of times each cluster is in each resample.

    >>> x, has_error = np.array([3.0, 2, 2, 1]), np.array([False, False, True, True])
    >>> bootstrap_auc(x, has_error, np.arange(4), np.array([[1, 1, 1, 1], [1, 1, 0, 0]])).tolist()
    [0.875, nan]
    """
    weights, right = np.ascontiguousarray(counts.T), (~has_error).astype(np.float64)
    rows = ClusteredRows(x, right, cluster)
    difference = ConcordanceForm(rows, rows, len(weights)).evaluate(weights)
    with np.errstate(invalid="ignore"):
        auc: Floats = 0.5 + 0.5 * difference / untied_pairs(right, cluster, weights)
    return auc
