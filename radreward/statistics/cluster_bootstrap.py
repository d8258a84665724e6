"""Correlations in cases that are drawn anew, all draws and all scorers at once.

Rows of one case are not independent, so that cases are drawn, never rows. A draw is told by how often each case is in
it: every statistic of a draw is one of the rows with these weights, and a thousand draws are a few products of
matrices.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.statistics.weighted_concordance import MAX_ARRAY_ELEMENTS, ClusteredRows, ConcordanceForm, untied_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BootstrapCorrelations(NamedTuple):
    """Correlations of S scorers with T targets in B draws, (B, S, T) each; NaN where a side is constant."""

    tau_b: Floats
    spearman: Floats
    pearson: Floats


def resample_clusters(n_clusters: int, n_resamples: int, seed: int) -> NDArray[np.uint16]:
    """How often each of G cases is in each of B draws of G with replacement, (B, G); two bytes each, as B G is much."""
    rng, each = np.random.default_rng(seed), np.full(n_clusters, 1 / max(1, n_clusters))
    found = np.zeros((n_resamples, n_clusters), dtype=np.uint16)
    step = max(1, MAX_ARRAY_ELEMENTS // max(1, n_clusters))
    for begin in range(0, n_resamples if n_clusters else 0, step):
        found[begin : begin + step] = rng.multinomial(n_clusters, each, min(step, n_resamples - begin))
    return found


def weighted_sums(values: Floats, weights: NDArray[np.generic]) -> Floats:
    """(B,) sums of values (G,) by weights (G, B), which may be small integers: only some are made floats at a time.

    >>> weighed(np.array([1.0, 10.0]), np.array([[2, 0], [0, 1]], dtype=np.uint8)).tolist()
    [2.0, 10.0]
    """
    found = np.empty(weights.shape[1])
    step = max(1, MAX_ARRAY_ELEMENTS // max(1, len(weights)))
    for begin in range(0, len(found), step):
        found[begin : begin + step] = values @ weights[:, begin : begin + step].astype(np.float64)
    return found


def percentile_interval(samples: Floats) -> tuple[Floats, Floats]:
    """Percentiles 2.5 and 97.5 over draws, (...) each of (B, ...).

    Draws in which a statistic is not defined are not counted; it is NaN where it is defined in none.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    return low, high


def bootstrap_correlations(x: Floats, y: Floats, cluster: Ints, counts: NDArray[np.integer]) -> BootstrapCorrelations:
    """τ-b, ρ and r of every x with every y in every draw, as scipy has them of the rows repeated.

    Args:
        x: (S, n) without NaN.
        y: (T, n) without NaN.
        case: (n,) which case, 0 to G - 1.
        counts: (B, G) how often each case is in each draw.

    >>> x, y = np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 3, 2, 4]])
    >>> once = drawn_correlations(x, y, np.arange(4), np.ones((1, 4), dtype=np.int64))
    >>> [round(float(value[0, 0, 0]), 4) for value in once]
    [0.6667, 0.8, 0.8]
    """
    columns = [RankedVariable(values) for values in (*x, *y)]
    tau = bootstrap_tau(x, y, cluster, counts)
    rho, r = np.empty((2, len(counts), len(x), len(y)))
    step = max(1, MAX_ARRAY_ELEMENTS // (len(cluster) * len(columns)))
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        weights = counts[part][:, cluster].astype(np.float64)  # (b, n)
        ties = [column.ties(weights) for column in columns]
        pairs = list(zip(columns, ties, strict=True))
        ranked = np.stack([_standardize(column.ranks(tied), weights, tied) for column, tied in pairs], 1)
        plain = np.stack([_standardize(column.values, weights, tied) for column, tied in pairs], 1)  # (b, S + T, n)
        for into, table in ((rho, ranked), (r, plain)):
            into[part] = table[:, : len(x)] @ table[:, len(x) :].transpose(0, 2, 1)
    return BootstrapCorrelations(tau, np.clip(rho, -1, 1), np.clip(r, -1, 1))


class RankedVariable:
    """A variable, and where its values are equal."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        new = np.r_[True, ordered[1:] != ordered[:-1]]
        self._starts = np.flatnonzero(new)
        self._place = np.empty(len(values), dtype=np.int64)
        self._place[self._order] = new.cumsum() - 1

    def ties(self, weights: Floats) -> Floats:
        """(b, U) how many rows of each draw have each value; weights (b, n)."""
        summed: Floats = np.add.reduceat(weights[:, self._order], self._starts, axis=1)
        return summed

    def ranks(self, ties: Floats) -> Floats:
        """(b, n) ranks in each draw, equal values at their mean rank."""
        ranks: Floats = (ties.cumsum(1) - (ties - 1) / 2)[:, self._place]
        return ranks


def _standardize(values: Floats, weights: Floats, ties: Floats) -> Floats:
    """(b, n) such that the products of two variables add up to their correlation in each draw."""
    with np.errstate(invalid="ignore", divide="ignore"):  # draws without any of these rows
        mean = (weights * values).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
        apart = (values - mean) * np.sqrt(weights)
        length = np.sqrt((apart**2).sum(1, keepdims=True))
        length[(ties > 0).sum(1) < 2] = np.nan
        standard: Floats = apart / length
    return standard


def bootstrap_tau(x: Floats, y: Floats, cluster: Ints, counts: NDArray[np.integer]) -> Floats:
    """τ-b alone, (B, S, T): (concordant - discordant) / √(pairs that differ in x · pairs that differ in y).

    Arguments as of `drawn_correlations`.
    """
    weights = np.ascontiguousarray(counts.T)
    above = np.empty((len(counts), len(x), len(y)))
    for place, one in enumerate(x):
        for other, two in enumerate(y):
            rows = ClusteredRows(one, two, cluster)
            above[:, place, other] = ConcordanceForm(rows, rows, len(weights)).evaluate(weights)
    differ = [np.sqrt([untied_pairs(values, cluster, weights) for values in side]).T for side in (x, y)]
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = above / (differ[0][:, :, None] * differ[1][:, None])
    return np.clip(tau, -1, 1)
