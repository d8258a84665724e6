"""Paired tests of two scorers on the same references: bootstrap intervals and sign-flip tests of their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.statistics.cluster_bootstrap import ratio_interval, resample_clusters
from radreward.statistics.weighted_concordance import MAX_ARRAY_ELEMENTS

Floats = NDArray[np.float64]

_N_RESAMPLES = 10_000
_CHUNK_SIZE = 1_000
"""Number of sign vectors in memory at once."""


def smallest_p_value(num_references: int) -> float:
    """Return the smallest two-sided p-value of a test that changes signs, or swaps scores, per reference or case.

    >>> smallest_p_value(4), smallest_p_value(6)
    (0.125, 0.03125)
    """
    return min(1.0, 2.0 ** (1 - num_references))


class PairedDifference(NamedTuple):
    """M differences over the same references, (M,) each; NaN without comparable pairs.

    Attributes:
        difference: Difference of the fractions of concordant pairs.
        low: Lower bound of the 95 % bootstrap interval.
        high: Upper bound.
        p: Two-sided p-value of the sign-flip test.
    """

    difference: Floats
    low: Floats
    high: Floats
    p: Floats


def concordant_pairs(rewards: Floats, targets: Floats, group: NDArray[np.generic]) -> tuple[Floats, Floats]:
    """Count concordant and comparable pairs per reference; `metrics.functional.count_concordant_pairs` without torch.

    Args:
        rewards: (n, M) rewards; candidates of a reference are adjacent.
        targets: (n, M) target rewards.
        group: (n,) reference id.

    Returns:
        (G, M) concordant pairs and (G, M) comparable pairs, by ascending reference id.

    >>> rewards, targets = np.array([[1.0], [2.0], [2.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> concordant_pairs(rewards, targets, np.array(["a", "a", "a"]))
    (array([[2.]]), array([[3.]]))
    """
    references, index = np.unique(group, return_inverse=True)
    concordant, comparable = np.zeros((2, len(references), rewards.shape[1]))
    for offset in range(1, len(group)):
        same = index[offset:] == index[:-offset]
        if not same.any():
            break
        order = np.sign(targets[offset:] - targets[:-offset])[same]
        np.add.at(concordant, index[offset:][same], np.sign(rewards[offset:] - rewards[:-offset])[same] * order > 0)
        np.add.at(comparable, index[offset:][same], order != 0)
    return concordant, comparable


def paired_differences(
    concordant: Floats, baseline_concordant: Floats, comparable: Floats, seed: int = 0
) -> PairedDifference:
    """Compare the fractions of concordant pairs of two scorers.

    References are resampled, because the candidates of one reference are not independent. (There are too few seeds to
    resample them: with three seeds, p is at least 1/4.) With x_g = concordant_g - baseline_g, the difference is Σ_g x_g
    / Σ_g comparable_g. The interval comes from the percentile bootstrap. The test is `sign_flip_test`.

    Args:
        concordant: (G, M) concordant pairs of each reference, averaged over runs.
        baseline_concordant: (G, M) concordant pairs of the baseline, averaged over runs.
        comparable: (G, M) pairs of each reference with different targets.
        seed: Seed of the resampling.

    Raises:
        ValueError: If the shapes differ.

    >>> ones = np.ones((5, 1))
    >>> paired_differences(ones, 0 * ones, 2 * ones)
    PairedDifference(difference=array([0.5]), low=array([0.5]), high=array([0.5]), p=array([0.0625]))
    """
    shapes = [array.shape for array in (concordant, baseline_concordant, comparable)]
    if len(set(shapes)) > 1 or concordant.ndim != 2:
        raise ValueError(f"Expected three (G, M) arrays but got {shapes[0]}, {shapes[1]} and {shapes[2]}.")
    result = PairedDifference(*(np.full(concordant.shape[1], np.nan) for _ in range(4)))
    defined = comparable.sum(0) > 0
    if defined.any():
        x, comparable = (concordant - baseline_concordant)[:, defined], comparable[:, defined]
        result.difference[defined] = x.sum(0) / comparable.sum(0)
        counts = resample_clusters(len(x), _N_RESAMPLES, seed)
        intervals = [ratio_interval(x_j, n_j, counts) for x_j, n_j in zip(x.T, comparable.T, strict=True)]
        result.low[defined], result.high[defined] = np.transpose(intervals)
        result.p[defined] = sign_flip_test(x, seed)
    return result


def sign_flip_test(differences: Floats, seed: int = 0, n_resamples: int = _N_RESAMPLES) -> Floats:
    """Return the two-sided p-value of Σ_g x_g under random signs: for equal scorers, x_g and -x_g are equally likely.

    If there are at most `n_resamples` sign vectors (2^G), all of them are used and p is exact. Otherwise random ones
    are used, together with the observed one, so that p is never 0 (Phipson and Smyth 2010).

    Args:
        differences: (G, M) x_g. Each column is tested separately.
        seed: Seed of the random signs.
        n_resamples: Maximum number of sign vectors.

    Returns:
        (M,) p-values.

    >>> sign_flip_test(np.array([[1.0], [1.0], [1.0], [-1.0]]))
    array([0.625])
    """
    differences = np.asarray(differences, dtype=np.float64)
    n_units = len(differences)
    observed = np.abs(differences.sum(0))
    tolerance = 1e-6 * np.abs(differences).sum(0)  # sums in another order, and scores in float32, differ by rounding
    exact = 2**n_units <= n_resamples
    total = 2**n_units if exact else n_resamples - 1
    rng = np.random.default_rng(seed)
    extreme = np.zeros(differences.shape[1])
    for start in range(0, total, _CHUNK_SIZE):
        size = min(_CHUNK_SIZE, total - start)
        if exact:
            bits = np.arange(start, start + size)[:, None] >> np.arange(n_units) & 1
        else:
            bits = rng.integers(0, 2, (size, n_units), dtype=np.int8)
        step = max(1, MAX_ARRAY_ELEMENTS // max(1, n_units))
        for rows in (slice(first, first + step) for first in range(0, size, step)):
            signs = 1.0 - 2.0 * bits[rows]
            extreme += (np.abs(signs @ differences) >= observed - tolerance).sum(0)
    return extreme / total if exact else (extreme + 1) / n_resamples


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method (1979), which controls the family-wise error rate.

    NaN stays NaN and does not count as a test.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted((index for index, value in enumerate(p) if value == value), key=lambda index: p[index])
    adjusted, running_max = list(p), 0.0
    for rank, index in enumerate(order):
        running_max = max(running_max, min(1.0, (len(order) - rank) * p[index]))
        adjusted[index] = running_max
    return adjusted
