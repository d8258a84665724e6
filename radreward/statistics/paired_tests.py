"""Whether one scorer orders candidates better than another, on the same references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_RESAMPLES = 10_000
_CHUNK_SIZE = 1_000
"""Resamples that are held in memory together."""


class PairedDifference(NamedTuple):
    """M differences, each over the same references, (M,) each.

    Attributes:
        difference: Of the shares of pairs that are ordered right; NaN where there are no pairs.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Of the sign-flip test, two-sided.
    """

    difference: Floats
    low: Floats
    high: Floats
    p: Floats


def concordant_pairs(rewards: Floats, quality: Floats, group: NDArray[np.str_]) -> tuple[Floats, Floats]:
    """Of the pairs of each reference that differ in quality, how many the rewards order right, and how many there are.

    Equal rewards are not right.

    Args:
        rewards: (n, M), the candidates of a reference one after the other.
        quality: (n, M).
        group: (n,) which reference.

    Returns:
        (G, M) each, the references in ascending order.

    >>> one = np.array([[1.0], [2.0], [2.0]])
    >>> ordered_pairs(one, np.array([[1.0], [2.0], [3.0]]), np.array(["a", "a", "a"]))
    (array([[2.]]), array([[3.]]))
    """
    names, index = np.unique(group, return_inverse=True)
    right, pairs = np.zeros((2, len(names), rewards.shape[1]))
    for gap in range(1, len(group)):  # candidates that stand so far apart
        same = index[gap:] == index[:-gap]
        if not same.any():
            break
        order = np.sign(quality[gap:] - quality[:-gap])[same]
        np.add.at(right, index[gap:][same], np.sign(rewards[gap:] - rewards[:-gap])[same] * order > 0)
        np.add.at(pairs, index[gap:][same], order != 0)
    return right, pairs


def paired_differences(
    concordant: Floats, baseline_concordant: Floats, comparable: Floats, seed: int = 0
) -> PairedDifference:
    """Differences of shares of pairs ordered right, with intervals and tests that resample references.

    The reference is the unit, because its candidates are not independent of each other, and because references are
    what there are many of: three seeds allow no p below 1/4. With x_g = right_g - against_g, the difference is
    Σ_g x_g / Σ_g pairs_g. Its interval is that of the percentile bootstrap, which draws references; its test is
    `sign_flip_test`.

    Args:
        right: (G, M) pairs of each reference ordered right; means over runs.
        against: (G, M) likewise, by the other scorer.
        pairs: (G, M) pairs of each reference with different errors.
        seed: Of the resampling.

    Raises:
        ValueError: If the shapes differ.

    >>> ones = np.ones((5, 1))
    >>> differences(ones, 0 * ones, 2 * ones)
    Paired(difference=array([0.5]), low=array([0.5]), high=array([0.5]), p=array([0.0625]))
    """
    if not concordant.shape == baseline_concordant.shape == comparable.shape or concordant.ndim != 2:
        raise ValueError(
            f"Expected three (G, M) arrays but got {concordant.shape}, {baseline_concordant.shape} and {comparable.shape}."
        )
    found = PairedDifference(*(np.full(concordant.shape[1], np.nan) for _ in range(4)))
    some = comparable.sum(0) > 0
    if some.any():
        apart, comparable = (concordant - baseline_concordant)[:, some], comparable[:, some]
        found.difference[some] = apart.sum(0) / comparable.sum(0)
        found.low[some], found.high[some] = _bootstrap_interval(apart, comparable, np.random.default_rng(seed))
        found.p[some] = sign_flip_test(apart, seed)
    return found


def sign_flip_test(differences: Floats, seed: int = 0, n_resamples: int = N_RESAMPLES) -> Floats:
    """Two-sided p of Σ_g x_g under random signs: of equal scorers each x_g is as likely with the other sign.

    All 2^G signs where these are not more than `resamples`, which makes p exact; else as many random ones, with the
    observed one among them, so that p is never 0 (Phipson and Smyth 2010).

    Args:
        differences: (G, M) x_g, in columns that are tested apart.
        seed: Of the random signs.
        resamples: How many.

    Returns:
        (M,) p.

    >>> sign_flip_test(np.array([[1.0], [1.0], [1.0], [-1.0]]))
    array([0.625])
    """
    units = len(differences)
    observed = np.abs(differences.sum(0))
    slack = 1e-9 * np.abs(differences).sum(0)  # sums in another order differ by rounding
    exact = 2**units <= n_resamples
    total = 2**units if exact else n_resamples - 1
    rng = np.random.default_rng(seed)
    reached = np.zeros(differences.shape[1])
    for start in range(0, total, _CHUNK_SIZE):
        size = min(_CHUNK_SIZE, total - start)
        if exact:
            bits = np.arange(start, start + size)[:, None] >> np.arange(units) & 1
        else:
            bits = rng.integers(0, 2, (size, units), dtype=np.int8)
        signs = 1.0 - 2.0 * bits
        reached += (np.abs(signs @ differences) >= observed - slack).sum(0)
    return reached / total if exact else (reached + 1) / n_resamples


def _bootstrap_interval(apart: Floats, pairs: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentiles 2.5 and 97.5, (M,) each, of the difference over references that are drawn with replacement.

    Where a criterion is rare, a draw may have no pairs by it: it tells nothing.
    """
    units, found = len(apart), []
    for start in range(0, N_RESAMPLES, _CHUNK_SIZE):
        size = min(_CHUNK_SIZE, N_RESAMPLES - start)
        drawn = rng.multinomial(units, np.full(units, 1 / units), size).astype(np.float64)
        with np.errstate(invalid="ignore"):
            found.append((drawn @ apart) / (drawn @ pairs))
    low, high = np.nanpercentile(np.concatenate(found), [2.5, 97.5], axis=0)
    return low, high


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): p of a family of tests such that the chance of any false one stays below.

    NaN is no test, and stays.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted((place for place, value in enumerate(p) if value == value), key=lambda place: p[place])
    corrected, least = list(p), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p[place]))
        corrected[place] = least
    return corrected
