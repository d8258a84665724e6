"""Paired comparison of scorers: the difference of their agreement with raters on the same pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import (
    bootstrap_tau,
    counts_of_clusters,
    percentile_interval,
    weighted_sums,
)
from radreward.statistics.paired_tests import holm
from radreward.statistics.weighted_concordance import ClusteredRows, ConcordanceForm, untied_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_PERMUTATIONS = 10_000
_BLOCK_SIZE = 1_000
"""Number of permutations computed together."""
_MAX_FORMS = 2
"""Number of scorers whose concordance forms are in memory together. The size of a form is n^1.5."""
_MAX_EXCEEDANCES = 100
"""A test stops after this many permutations that are at least as extreme as the observed difference."""
_TOLERANCE = 1e-9
"""Differences up to this are rounding, because sums are in a different order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerComparison:
    """τ-b of scorer a minus τ-b of scorer b, with one target; NaN if undefined.

    Attributes:
        target: Index of the target.
        scorer_a: Index of the first scorer.
        scorer_b: Index of the second scorer.
        n: Number of rows with both scores and a target value.
        n_clusters: Number of clusters of these rows.
        difference: Difference of τ-b.
        low: Lower bound of the 95 % cluster-bootstrap interval.
        high: Upper bound.
        p_permutation: Two-sided p-value of the permutation test.
        p_holm: `p_permutation`, Holm-corrected for all comparisons with this target.
    """

    target: int
    scorer_a: int
    scorer_b: int
    n: int = 0
    n_clusters: int = 0
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_permutation: float = math.nan
    p_holm: float = math.nan


def compare_scorers(
    x: Floats,
    y: Floats,
    cluster_ids: Ints,
    resample_counts: NDArray[np.integer],
    seed: int = 0,
    n_permutations: int = N_PERMUTATIONS,
) -> list[ScorerComparison]:
    """Compare every two scorers on every target.

    The test is approximate randomization (Noreen 1989): if two metrics agree equally well with raters, swapping their
    scores in a cluster makes no difference on average. Each permutation swaps the scores of each cluster with
    probability 1/2; p is the share of permutations, the observed scores included, with a difference at least as large.
    Metrics have different scales, so ranks are swapped, on which alone τ-b depends (after Deutsch, Dror and Roth 2021,
    who swap standardized scores). A test stops after a block of 1,000 permutations if at least 100 permutations reach
    the observed difference (after Besag and Clifford 1991), because p is then not small.

    Args:
        x: (S, n) scores, higher is better, NaN if missing.
        y: (T, n) targets, higher is better, NaN if missing.
        cluster_ids: (n,) cluster of each row, 0 to G - 1.
        resample_counts: (B, G) number of times each cluster is in each bootstrap resample.
        seed: Seed of the permutations.
        n_permutations: Maximum number of permutations R; p is at least 1 / (R + 1).

    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> close, far = y + rng.normal(0, 0.3, 60), rng.normal(size=60)
    >>> counts = rng.multinomial(60, np.full(60, 1 / 60), 200)
    >>> [comparison] = compare_scorers(np.stack([close, far]), y[None], np.arange(60), counts, n_permutations=199)
    >>> comparison.difference > 0.5, comparison.low > 0, comparison.p_permutation
    (True, True, 0.005)
    """
    comparisons = [
        ScorerComparison(target=target, scorer_a=a, scorer_b=b)
        for (a, b), target in product(combinations(range(len(x)), 2), range(len(y)))
    ]
    groups: dict[tuple[int, bytes], list[int]] = {}
    for index, pair in enumerate(comparisons):
        defined = ~(np.isnan(x[pair.scorer_a]) | np.isnan(x[pair.scorer_b]) | np.isnan(y[pair.target]))
        groups.setdefault((pair.target, defined.tobytes()), []).append(index)
    for (target, mask), indices in groups.items():
        rows = np.frombuffer(mask, np.bool_)
        common = _CommonRows(x[:, rows], y[target][rows], cluster_ids[rows], resample_counts, seed, n_permutations)
        for index in indices:
            comparisons[index] = _compare_pair(
                replace(comparisons[index], n=int(rows.sum()), n_clusters=common.n_clusters), common
            )
    for target in range(len(y)):
        indices = [index for index, pair in enumerate(comparisons) if pair.target == target]
        corrected = holm([comparisons[index].p_permutation for index in indices])
        for index, p in zip(indices, corrected, strict=True):
            comparisons[index] = replace(comparisons[index], p_holm=p)
    return comparisons


def _compare_pair(comparison: ScorerComparison, rows: _CommonRows) -> ScorerComparison:
    scorers = comparison.scorer_a, comparison.scorer_b
    if any(rows.is_constant(scorer) for scorer in scorers):
        return comparison
    a, b = (rows.scorer_terms(scorer) for scorer in scorers)
    low, high = percentile_interval(a.resampled_tau - b.resampled_tau) if len(a.resampled_tau) else (np.nan, np.nan)
    difference = a.tau - b.tau
    return replace(
        comparison,
        difference=difference,
        low=float(low),
        high=float(high),
        p_permutation=rows.permutation_p_value(*scorers, difference),
    )


class _SwapTerms(NamedTuple):
    """(R,) values of a quadratic form M for R permutations; k is 1 for unswapped clusters, else 0, and l = 1 - k."""

    unswapped_unswapped: Floats
    """kᵀMk."""
    unswapped_swapped: Floats
    """kᵀMl."""
    swapped_unswapped: Floats
    """lᵀMk."""
    swapped_swapped: Floats
    """lᵀMl."""


def _swap_terms(form: ConcordanceForm, unswapped: NDArray[np.uint8]) -> _SwapTerms:
    """Return the terms for (G, R) permutations."""
    both, rows, columns = (
        form.evaluate(unswapped),
        weighted_sums(form.row_sums, unswapped),
        weighted_sums(form.column_sums, unswapped),
    )
    return _SwapTerms(both, rows - both, columns - both, form.row_sums.sum() - rows - columns + both)


class _ScorerTerms(NamedTuple):
    """Results of one scorer, used in all its comparisons."""

    tau: float
    resampled_tau: Floats
    """(B,) in every bootstrap resample."""
    swap_terms: dict[int, _SwapTerms]
    """Terms of each block of permutations, computed on demand."""


class _CommonRows:
    """Scores and one target on the rows that a group of comparisons shares, see `compare_scorers`.

    `x` has no NaN for the scorers of these comparisons.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        cluster_ids: Ints,
        resample_counts: NDArray[np.integer],
        seed: int,
        n_permutations: int,
    ) -> None:
        self._x, self._y, self._seed, self._n_permutations = x, y, seed, n_permutations
        self._clusters, self._cluster = np.unique(cluster_ids, return_inverse=True)
        self._n_all_clusters = resample_counts.shape[1]
        self._counts = counts_of_clusters(resample_counts, self._clusters)
        ones = np.ones((len(self._clusters), 1))
        self._untied_y = float(untied_pairs(y, self._cluster, ones)[0]) if len(y) else 0.0
        self._scorer_terms: dict[int, _ScorerTerms] = {}
        self._scorer_forms: dict[int, ConcordanceForm] = {}

    @property
    def n_clusters(self) -> int:
        """Number of clusters of these rows."""
        return len(self._clusters)

    def is_constant(self, scorer: int) -> bool:
        """Return True if τ-b is undefined."""
        return len(self._y) < 2 or np.ptp(self._x[scorer]) == 0 or np.ptp(self._y) == 0

    def scorer_terms(self, scorer: int) -> _ScorerTerms:
        """Return the results of a scorer, which are computed once."""
        if scorer not in self._scorer_terms:
            x, y = self._x[scorer], self._y
            self._scorer_terms[scorer] = _ScorerTerms(
                float(stats.kendalltau(x, y).statistic),
                bootstrap_tau(x[None], y[None], self._cluster, self._counts)[:, 0, 0],
                {},
            )
        return self._scorer_terms[scorer]

    def permutation_p_value(self, scorer_a: int, scorer_b: int, difference: float) -> float:
        """Return the two-sided p-value of the observed difference; see `compare_scorers`."""
        ranks = stats.rankdata(self._x[scorer_a]), stats.rankdata(self._x[scorer_b])
        cross = self._form(*ranks)
        extreme = total = 0
        for block in range(-(-self._n_permutations // _BLOCK_SIZE)):
            permuted = self._permuted_differences(scorer_a, scorer_b, ranks, cross, block)
            extreme += int((~(np.abs(permuted) < abs(difference) - _TOLERANCE)).sum())  # NaN counts as extreme
            total += len(permuted)
            if extreme >= _MAX_EXCEEDANCES:
                break
        return (extreme + 1) / (total + 1)

    def unswapped_clusters(self, block: int) -> NDArray[np.uint8]:
        """Return the (G, R) permutations of a block: 1 if a cluster keeps its scores, 0 if they are swapped."""
        size = min(_BLOCK_SIZE, self._n_permutations - block * _BLOCK_SIZE)
        rng = np.random.default_rng([self._seed, block])
        return rng.integers(0, 2, (self._n_all_clusters, size), dtype=np.uint8)[self._clusters]

    def _permuted_differences(
        self, scorer_a: int, scorer_b: int, ranks: tuple[Floats, Floats], cross: ConcordanceForm, block: int
    ) -> Floats:
        """Return the (R,) differences of τ-b after each permutation of a block.

        The sum over all pairs of rows of sign(mᵢ - mⱼ) sign(yᵢ - yⱼ), for scores m mixed from a and b, is
        kᵀAk + 2 kᵀXl + lᵀBl, where A, X and B are the products of signs between a and a, a and b, b and b, summed by
        clusters.
        """
        unswapped = self.unswapped_clusters(block)
        a, b = (self._block_terms(scorer, unswapped, block) for scorer in (scorer_a, scorer_b))
        x = _swap_terms(cross, unswapped)
        concordance = (
            a.unswapped_unswapped + 2 * x.unswapped_swapped + b.swapped_swapped,
            b.unswapped_unswapped + 2 * x.swapped_unswapped + a.swapped_swapped,
        )
        # Clusters G to 2G - 1 represent swapped scores, which are weighted with l.
        own, other = self._cluster, self._cluster + len(self._clusters)
        weights = np.concatenate([unswapped, 1 - unswapped])
        values = np.concatenate(ranks)
        untied = [untied_pairs(values, np.concatenate(clusters), weights) for clusters in ((own, other), (other, own))]
        with np.errstate(invalid="ignore", divide="ignore"):
            tau_a, tau_b = (c / np.sqrt(n * self._untied_y) for c, n in zip(concordance, untied, strict=True))
        return tau_a - tau_b

    def _block_terms(self, scorer: int, unswapped: NDArray[np.uint8], block: int) -> _SwapTerms:
        terms = self.scorer_terms(scorer)
        if block not in terms.swap_terms:
            if scorer not in self._scorer_forms:
                for oldest in list(self._scorer_forms)[: 1 - _MAX_FORMS]:
                    del self._scorer_forms[oldest]
                self._scorer_forms[scorer] = self._form(self._x[scorer], self._x[scorer])
            terms.swap_terms[block] = _swap_terms(self._scorer_forms[scorer], unswapped)
        return terms.swap_terms[block]

    def _form(self, left: Floats, right: Floats) -> ConcordanceForm:
        left_rows, right_rows = (ClusteredRows(values, self._y, self._cluster) for values in (left, right))
        return ConcordanceForm(left_rows, right_rows, len(self._clusters))
