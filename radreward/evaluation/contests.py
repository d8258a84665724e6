"""Whether one metric agrees better with people than another, on the same pairs."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from radreward.evaluation.draws import Block, added_up, blocks, drawn_tau, interval, signs
from radreward.evaluation.paired import holm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SLACK = 1e-9
"""Differences in another order of adding up differ by rounding."""


class Contest(NamedTuple):
    """τ-b of one scorer less that of another, against one target."""

    target: int
    one: int
    other: int
    n: int
    """Rows in which all three are known."""
    difference: float = math.nan
    low: float = math.nan
    """Lower end of the 95 % interval, over cases drawn anew."""
    high: float = math.nan
    p_bootstrap: float = math.nan
    """Twice the share of draws on the far side of 0, two-sided."""
    p_randomised: float = math.nan
    """Of approximate randomisation, two-sided; no less than 1 / (R + 1) with R exchanges."""
    p_tail: float = math.nan
    """The same where any exchange reached the difference; else the tail of a normal distribution as wide as theirs.

    Among many contests a correction of 1 / (R + 1) would call nothing significant, however far apart two scorers are.
    """
    p_holm: float = math.nan
    """`p_tail`, corrected for all contests of the target."""


def contests(x: Floats, y: Floats, case: Ints, counts: Ints, seed: int = 0) -> list[Contest]:
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
    swaps = np.random.default_rng(seed).integers(0, 2, counts.shape).astype(np.float32)
    same: dict[tuple[int, bytes], _SameRows] = {}
    found = []
    for (one, other), target in product(combinations(range(len(x)), 2), range(len(y))):
        rows = ~(np.isnan(x[one]) | np.isnan(x[other]) | np.isnan(y[target]))
        key = target, rows.tobytes()
        if key not in same:
            same[key] = _SameRows(x[:, rows], y[target][rows], case[rows], counts, swaps)
        found.append(_contest(Contest(target, one, other, int(rows.sum())), same[key]))
    for target in range(len(y)):
        places = [place for place, entry in enumerate(found) if entry.target == target]
        for place, p in zip(places, holm([found[place].p_tail for place in places]), strict=True):
            found[place] = found[place]._replace(p_holm=p)
    return found


def _contest(found: Contest, rows: _SameRows) -> Contest:
    if rows.constant(found.one) or rows.constant(found.other):
        return found
    difference = rows.tau(found.one) - rows.tau(found.other)
    apart = rows.drawn(found.one) - rows.drawn(found.other)
    apart = apart[~np.isnan(apart)]
    low, high = interval(apart) if len(apart) else (np.nan, np.nan)
    beyond = int(min((apart <= 0).sum(), (apart >= 0).sum()))
    exchanged = rows.exchanged(found.one, found.other)
    reached = int((~(np.abs(exchanged) < abs(difference) - _SLACK)).sum())  # not defined is no evidence either
    p = (reached + 1) / (len(exchanged) + 1)
    tail = 2 * float(stats.norm.sf(abs(difference) / np.nanstd(exchanged))) if reached == 0 else p
    return found._replace(
        difference=difference,
        low=float(low),
        high=float(high),
        p_bootstrap=min(1.0, 2 * (beyond + 1) / (len(apart) + 1)),
        p_randomised=p,
        p_tail=min(p, tail),
    )


class _Forms(NamedTuple):
    """Of a matrix M and every exchange k, with l = 1 - k: (R,) each."""

    kept: Floats
    """kᵀMk."""
    first: Floats
    """kᵀMl."""
    second: Floats
    """lᵀMk."""
    taken: Floats
    """lᵀMl."""


class _SameRows:
    """Scorers and a target in the rows that contests share: what is of one scorer alone is computed once.

    Args:
        x: (S, n) scores; those of the scorers that are asked for have no NaN.
        y: (n,) target.
        case: (n,) which case.
        counts: (B, G) draws.
        swaps: (R, G) exchanges: 1 where a case keeps its scores.
    """

    def __init__(self, x: Floats, y: Floats, case: Ints, counts: Ints, swaps: NDArray[np.float32]) -> None:
        order = np.argsort(case, kind="stable")
        some, self._case = np.unique(case[order], return_inverse=True)
        self._x, self._y = x[:, order], y[order]
        self._counts, self._swaps = counts[:, some], swaps[:, some]
        parts = (signs(self._y[block.rows], self._y) for block in blocks(self._case))
        self._differ = float(sum(np.count_nonzero(part) for part in parts))  # pairs that differ in y, twice
        self._drawn: dict[int, Floats] = {}
        self._own: dict[int, tuple[_Forms, _Forms]] = {}

    def constant(self, scorer: int) -> bool:
        """Whether there is no τ-b."""
        return len(self._y) < 2 or any(bool((values == values[0]).all()) for values in (self._x[scorer], self._y))

    def tau(self, scorer: int) -> float:
        """As observed."""
        return float(stats.kendalltau(self._x[scorer], self._y).statistic)

    def drawn(self, scorer: int) -> Floats:
        """(B,) in every draw."""
        if scorer not in self._drawn:
            self._drawn[scorer] = drawn_tau(self._x[[scorer]], self._y[None], self._case, self._counts)[:, 0, 0]
        return self._drawn[scorer]

    def exchanged(self, one: int, other: int) -> Floats:
        """(R,) difference of the two τ-b after each exchange.

        The sum over all pairs of rows of sign(mᵢ - mⱼ) sign(yᵢ - yⱼ), for scores m mixed of a and b, is
        kᵀAk + 2 kᵀXl + lᵀBl, with A, X and B the products of signs between a and a, a and b, b and b, added up by
        cases; the pairs that differ in m are told by the same of the signs' absolute values.
        """
        for scorer in (one, other):
            if scorer not in self._own:
                self._own[scorer] = self._both_forms(self._x[scorer], self._x[scorer])
        between = self._both_forms(*(stats.rankdata(self._x[scorer]) for scorer in (one, other)))
        above, differ = (
            (a.kept + 2 * x.first + b.taken, b.kept + 2 * x.second + a.taken)
            for a, x, b in zip(self._own[one], between, self._own[other], strict=True)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            tau = [over / np.sqrt(under * self._differ) for over, under in zip(above, differ, strict=True)]
        return tau[0] - tau[1]

    def _both_forms(self, left: Floats, right: Floats) -> tuple[_Forms, _Forms]:
        """Of the products of signs with the target's, and of the signs' absolute values."""
        sums = np.zeros((2, len(_Forms._fields), len(self._swaps)))
        for block in blocks(self._case):
            between = signs(left[block.rows], right)
            told = signs(self._y[block.rows], self._y)
            for into, matrix in zip(sums, (between * told, np.abs(between)), strict=True):
                into += _forms(self._swaps, added_up(matrix, block), block)
        return _Forms(*sums[0]), _Forms(*sums[1])


def _forms(k: NDArray[np.float32], matrix: NDArray[np.float32], block: Block) -> _Forms:
    """As far as the (g, G) rows of a block go."""
    part = k[:, block.cases]
    kept = ((part @ matrix) * k).sum(1, dtype=np.float64)
    down = (part @ matrix.sum(1)).astype(np.float64)  # kᵀM1
    across = (k @ matrix.sum(0)).astype(np.float64)  # 1ᵀMk
    return _Forms(kept, down - kept, across - kept, float(matrix.sum(dtype=np.float64)) - down - across + kept)
