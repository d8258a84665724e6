"""Whether one metric agrees better with people than another, on the same pairs."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.statistics.cluster_bootstrap import bootstrap_tau, percentile_interval, weighted_sums
from radreward.statistics.paired_tests import holm
from radreward.statistics.weighted_concordance import ClusteredRows, ConcordanceForm, untied_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_TOLERANCE = 1e-9
"""Differences in another order of adding up differ by rounding."""


class ScorerComparison(NamedTuple):
    """τ-b of one scorer less that of another, against one target."""

    target: int
    scorer_a: int
    scorer_b: int
    n: int
    """Rows in which all three are known."""
    difference: float = math.nan
    low: float = math.nan
    """Lower end of the 95 % interval, over cases drawn anew."""
    high: float = math.nan
    p_bootstrap: float = math.nan
    """Twice the share of draws on the far side of 0, two-sided."""
    p_permutation: float = math.nan
    """Of approximate randomisation, two-sided; no less than 1 / (R + 1) with R exchanges."""
    p_tail: float = math.nan
    """The same where any exchange reached the difference; else the tail of a normal distribution as wide as theirs.

    Among many contests a correction of 1 / (R + 1) would call nothing significant, however far apart two scorers are.
    """
    p_holm: float = math.nan
    """`p_tail`, corrected for all contests of the target."""


def compare_scorers(
    x: Floats, y: Floats, cluster_ids: Ints, resample_counts: NDArray[np.integer], seed: int = 0
) -> list[ScorerComparison]:
    """Every two scorers against every target.

    Approximate randomisation (Noreen 1989): if two metrics are worth the same, it does not matter whose score a case
    has. So the two swap their scores of every case or not, at random, and p is the share of such exchanges after which
    they differ by at least as much, the observed one among them. Metrics have no common scale: what is swapped is the
    rank of a score among those of its metric, on which alone τ-b depends (after Deutsch, Dror and Roth 2021, who swap
    standardised scores). All candidates of a case are swapped together.

    Args:
        x: (S, n) scores, higher is better, NaN where unknown.
        y: (T, n) targets, likewise.
        case: (n,) which case, 0 to G - 1.
        counts: (B, G) how often each case is in each draw; there are as many exchanges.
        seed: Of the exchanges.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> close, far = y + rng.normal(0, 0.3, 60), rng.normal(size=60)
    >>> counts = rng.multinomial(60, np.full(60, 1 / 60), 200)
    >>> [found] = contests(np.stack([close, far]), y[None], np.arange(60), counts)
    >>> found.difference > 0.5, found.low > 0, found.p_randomised
    (True, True, 0.004975124378109453)
    """
    rng = np.random.default_rng(seed)
    swaps = np.empty(resample_counts.shape, dtype=np.uint8)
    for draw in swaps:  # one after the other, for what is drawn takes eight times as much
        draw[:] = rng.integers(0, 2, len(draw))
    met = [ScorerComparison(target, *two, 0) for two, target in product(combinations(range(len(x)), 2), range(len(y)))]
    alike: dict[tuple[int, bytes], list[int]] = {}
    for place, entry in enumerate(met):
        known = ~(np.isnan(x[entry.scorer_a]) | np.isnan(x[entry.scorer_b]) | np.isnan(y[entry.target]))
        alike.setdefault((entry.target, known.tobytes()), []).append(place)
    for (target, known), places in alike.items():
        rows = np.frombuffer(known, np.bool_)
        same = _CommonRows(x[:, rows], y[target][rows], cluster_ids[rows], resample_counts, swaps)
        for place in places:
            met[place] = _compare_pair(met[place]._replace(n=int(rows.sum())), same)
    for target in range(len(y)):
        places = [place for place, entry in enumerate(met) if entry.target == target]
        for place, p in zip(places, holm([met[place].p_tail for place in places]), strict=True):
            met[place] = met[place]._replace(p_holm=p)
    return met


def _compare_pair(comparison: ScorerComparison, rows: _CommonRows) -> ScorerComparison:
    if rows.is_constant(comparison.scorer_a) or rows.is_constant(comparison.scorer_b):
        return comparison
    one, other = rows.scorer_terms(comparison.scorer_a), rows.scorer_terms(comparison.scorer_b)
    difference = one.tau - other.tau
    apart = one.resampled_tau - other.resampled_tau
    apart = apart[~np.isnan(apart)]
    low, high = percentile_interval(apart) if len(apart) else (np.nan, np.nan)
    beyond = int(min((apart <= 0).sum(), (apart >= 0).sum()))
    exchanged = rows.permuted_differences(comparison.scorer_a, comparison.scorer_b)
    reached = int((~(np.abs(exchanged) < abs(difference) - _TOLERANCE)).sum())  # not defined is no evidence either
    p = (reached + 1) / (len(exchanged) + 1)
    tail = 2 * float(stats.norm.sf(abs(difference) / np.nanstd(exchanged))) if reached == 0 else p
    return comparison._replace(
        difference=difference,
        low=float(low),
        high=float(high),
        p_bootstrap=min(1.0, 2 * (beyond + 1) / (len(apart) + 1)),
        p_permutation=p,
        p_tail=min(p, tail),
    )


class _SwapTerms(NamedTuple):
    """Of a matrix M and every exchange k, with l = 1 - k: (R,) each."""

    kept_kept: Floats
    """kᵀMk."""
    kept_swapped: Floats
    """kᵀMl."""
    swapped_kept: Floats
    """lᵀMk."""
    swapped_swapped: Floats
    """lᵀMl."""

    @classmethod
    def from_form(cls, form: ConcordanceForm, swaps: NDArray[np.uint8]) -> Self:
        """Of k as columns of (G, R)."""
        kept, down, across = (
            form.evaluate(swaps),
            weighted_sums(form.row_sums, swaps),
            weighted_sums(form.column_sums, swaps),
        )
        return cls(kept, down - kept, across - kept, form.row_sums.sum() - down - across + kept)


class _ScorerTerms(NamedTuple):
    """What is of one scorer alone."""

    tau: float
    """As observed."""
    resampled_tau: Floats
    """(B,) in every draw."""
    swap_terms: _SwapTerms


class _CommonRows:
    """Scorers and a target in the rows that contests share: what is of one scorer alone is computed once.

    Args:
        x: (S, n) scores; those of the scorers that are asked for have no NaN.
        y: (n,) target.
        case: (n,) which case.
        counts: (B, G) draws.
        swaps: (R, G) exchanges: 1 where a case keeps its scores.
    """

    def __init__(self, x: Floats, y: Floats, case: Ints, counts: NDArray[np.integer], swaps: NDArray[np.uint8]) -> None:
        some, self._case = np.unique(case, return_inverse=True)
        self._x, self._y, self._cases = x, y, len(some)
        self._counts = counts if len(some) == counts.shape[1] else counts[:, some]
        keep = swaps.T[some]
        self._swaps = np.concatenate([keep, 1 - keep])  # (2 G, R)
        self._differ = float(untied_pairs(y, self._case, np.ones((len(some), 1)))[0]) if len(y) else 0.0
        self._own: dict[int, _ScorerTerms] = {}

    def is_constant(self, scorer: int) -> bool:
        """Whether there is no τ-b."""
        return len(self._y) < 2 or any(bool((values == values[0]).all()) for values in (self._x[scorer], self._y))

    def scorer_terms(self, scorer: int) -> _ScorerTerms:
        """See `_Own`."""
        if scorer not in self._own:
            x, y, case = self._x[scorer], self._y, self._case
            self._own[scorer] = _ScorerTerms(
                float(stats.kendalltau(x, y).statistic),
                bootstrap_tau(x[None], y[None], case, self._counts)[:, 0, 0],
                self._swap_terms(x, x),
            )
        return self._own[scorer]

    def permuted_differences(self, scorer_a: int, scorer_b: int) -> Floats:
        """(R,) difference of the two τ-b after each exchange.

        The sum over all pairs of rows of sign(mᵢ - mⱼ) sign(yᵢ - yⱼ), for scores m mixed of a and b, is
        kᵀAk + 2 kᵀXl + lᵀBl, with A, X and B the products of signs between a and a, a and b, b and b, added up by
        cases.
        """
        ranks = [stats.rankdata(self._x[scorer]) for scorer in (scorer_a, scorer_b)]
        a, b, x = (
            self.scorer_terms(scorer_a).swap_terms,
            self.scorer_terms(scorer_b).swap_terms,
            self._swap_terms(*ranks),
        )
        above = (
            a.kept_kept + 2 * x.kept_swapped + b.swapped_swapped,
            b.kept_kept + 2 * x.swapped_kept + a.swapped_swapped,
        )
        apart = self._case + self._cases  # whose weights are those of the other metric's scores
        cases = np.concatenate([self._case, apart]), np.concatenate([apart, self._case])
        under = [untied_pairs(np.concatenate(ranks), of_both, self._swaps) for of_both in cases]
        with np.errstate(invalid="ignore", divide="ignore"):
            tau = [over / np.sqrt(pairs * self._differ) for over, pairs in zip(above, under, strict=True)]
        return tau[0] - tau[1]

    def _swap_terms(self, left: Floats, right: Floats) -> _SwapTerms:
        first, second = (ClusteredRows(values, self._y, self._case) for values in (left, right))
        return _SwapTerms.from_form(ConcordanceForm(first, second, self._cases), self._swaps[: self._cases])
