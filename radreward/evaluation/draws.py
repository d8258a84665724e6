"""Correlations in cases that are drawn anew, all draws and all scorers at once.

Rows of one case are not independent, so that cases are drawn, never rows. A draw is told by how often each case is in
it: every statistic of a draw is one of the rows with these weights, and a thousand draws are a few products of
matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS = 4_000_000
"""Numbers that are held in one array at a time."""


class Drawn(NamedTuple):
    """Correlations of S scorers with T targets in B draws, (B, S, T) each; NaN where a side is constant."""

    tau_b: Floats
    spearman: Floats
    pearson: Floats


def draw_cases(cases: int, draws: int, seed: int) -> Ints:
    """How often each of G cases is in each of B draws of G with replacement, (B, G)."""
    each = np.full(cases, 1 / max(1, cases))
    return np.random.default_rng(seed).multinomial(cases, each, draws) if cases else np.zeros((draws, 0), np.int64)


def interval(samples: Floats) -> tuple[Floats, Floats]:
    """Percentiles 2.5 and 97.5 over draws, (...) each of (B, ...).

    Draws in which a statistic is not defined are not counted; it is NaN where it is defined in none.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    return low, high


def drawn_correlations(x: Floats, y: Floats, case: Ints, counts: Ints) -> Drawn:
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
    order = np.argsort(case, kind="stable")  # rows of a case stand together
    x, y, case = x[:, order], y[:, order], case[order]
    columns = [Column(values) for values in (*x, *y)]
    tau = _tau(columns[: len(x)], columns[len(x) :], case, counts)
    rho, r = np.empty((2, len(counts), len(x), len(y)))
    step = max(1, _CELLS // (len(case) * len(columns)))
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        weights = counts[part][:, case].astype(np.float64)  # (b, n)
        ties = [column.ties(weights) for column in columns]
        pairs = list(zip(columns, ties, strict=True))
        ranked = np.stack([_standard(column.ranks(tied), weights, tied) for column, tied in pairs], 1)
        plain = np.stack([_standard(column.values, weights, tied) for column, tied in pairs], 1)  # (b, S + T, n)
        for into, table in ((rho, ranked), (r, plain)):
            into[part] = table[:, : len(x)] @ table[:, len(x) :].transpose(0, 2, 1)
    return Drawn(tau, np.clip(rho, -1, 1), np.clip(r, -1, 1))


def drawn_tau(x: Floats, y: Floats, case: Ints, counts: Ints) -> Floats:
    """τ-b alone, (B, S, T); see `drawn_correlations`."""
    order = np.argsort(case, kind="stable")
    first, second = ([Column(values[order]) for values in side] for side in (x, y))
    return _tau(first, second, case[order], counts)


class Column:
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


def _standard(values: Floats, weights: Floats, ties: Floats) -> Floats:
    """(b, n) such that the products of two variables add up to their correlation in each draw."""
    with np.errstate(invalid="ignore", divide="ignore"):  # draws without any of these rows
        mean = (weights * values).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
        apart = (values - mean) * np.sqrt(weights)
        length = np.sqrt((apart**2).sum(1, keepdims=True))
        length[(ties > 0).sum(1) < 2] = np.nan
        standard: Floats = apart / length
    return standard


def _tau(x: list[Column], y: list[Column], case: Ints, counts: Ints) -> Floats:
    """(B, S, T) τ-b = (concordant - discordant) / √(pairs that differ in x · pairs that differ in y).

    Σ over rows i < j of w_i w_j sign(x_i - x_j) sign(y_i - y_j), where the weight of a row is that of its case, is
    ½ wᵀ M w with M the products of signs added up by cases.
    """
    draws = counts.astype(np.float32)  # sums of small integers: exact
    above = np.zeros((len(counts), len(x), len(y)))
    for block in blocks(case):
        first, second = ([signs(column.values[block.rows], column.values) for column in side] for side in (x, y))
        for place, one in enumerate(first):
            for other, two in enumerate(second):
                form = added_up(one * two, block)
                above[:, place, other] += ((draws[:, block.cases] @ form) * draws).sum(1, dtype=np.float64)
    weights = counts.astype(np.float64)
    differ = [np.stack([_differing(column, case, weights) for column in side], 1) for side in (x, y)]
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = above / 2 / (np.sqrt(differ[0])[:, :, None] * np.sqrt(differ[1])[:, None])
    return np.clip(tau, -1, 1)


def _differing(column: Column, case: Ints, weights: Floats) -> Floats:
    """(B,) pairs of rows of a draw whose values differ."""
    found = np.empty(len(weights))
    step = max(1, _CELLS // len(case))
    for start in range(0, len(weights), step):
        ties = column.ties(weights[start : start + step][:, case])
        found[start : start + step] = (ties.sum(1) ** 2 - (ties**2).sum(1)) / 2
    return found


class Block(NamedTuple):
    """Rows of some cases against all rows."""

    rows: slice
    cases: slice
    down: Ints
    """(g,) where each of these cases begins among these rows."""
    across: Ints
    """(G,) where each case begins among all rows."""


def blocks(case: Ints) -> Iterator[Block]:
    """Rows in blocks of whole cases, so that a matrix of a block with all rows fits; `case` (n,) is ascending."""
    starts = np.flatnonzero(np.r_[True, case[1:] != case[:-1]])
    ends = np.r_[starts[1:], len(case)]
    most = max(1, _CELLS // len(case))
    begin = 0
    while begin < len(starts):
        end = max(begin + 1, int(np.searchsorted(ends, starts[begin] + most, side="right")))
        rows = slice(int(starts[begin]), int(ends[end - 1]))
        yield Block(rows, slice(begin, end), starts[begin:end] - rows.start, starts)
        begin = end


def signs(rows: Floats, values: Floats) -> NDArray[np.int8]:
    """(r, n) sign of the difference of each of some rows to every row."""
    found: NDArray[np.int8] = (rows[:, None] > values).view(np.int8) - (rows[:, None] < values).view(np.int8)
    return found


def added_up(matrix: NDArray[np.int8], block: Block) -> NDArray[np.float32]:
    """(g, G) a block's (r, n) matrix, added up by cases."""
    found = matrix.astype(np.float32)
    if len(block.down) < len(found):
        found = np.add.reduceat(found, block.down, axis=0)
    if len(block.across) < found.shape[1]:
        found = np.add.reduceat(found, block.across, axis=1)
    return found
