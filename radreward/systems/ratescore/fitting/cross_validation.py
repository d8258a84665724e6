"""Cross-validation of a fit over references."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.optimizers import AffinityOptimizer
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches, tau_b_or_worst

ProgressIterator = Callable[[Iterable[int]], Iterable[int]]
"""Wraps an iterable to report progress."""


class CrossValidation(NamedTuple):
    """Kendall's τ-b of held-out references, by fold."""

    initial: tuple[float, ...]
    """With the initial weights."""
    fitted: tuple[float, ...]
    """With the fitted weights."""


def cross_validate_affinity(
    optimizer: AffinityOptimizer,
    initial: AffinityMatrix,
    rated: RatedMatches,
    n_folds: int = 5,
    seed: int = 0,
    early_stopping_split: float = 0.2,
    progress: ProgressIterator = iter,
) -> CrossValidation:
    """Fit to all folds but one and evaluate on that one, in turn; folds share no references.

    Args:
        optimizer: The optimizer.
        initial: Initial weights of each fit.
        rated: All pairs.
        n_folds: Number of folds.
        seed: Seed of the folds.
        early_stopping_split: Fraction of the references of each fit for early stopping.
        progress: Wraps the loop over folds.

    Raises:
        InputError: If there are fewer references than folds.
    """
    rated = rated.drop_undefined(n_folds)
    fold = rated.folds(n_folds, seed)
    taus: list[tuple[float, float]] = []
    for number in progress(range(n_folds)):
        rest, held_out = rated.select(fold != number), rated.select(fold == number)
        fitted = optimizer.fit(initial, *rest.split(early_stopping_split, seed + 1)).affinity
        with torch.no_grad():
            before, after = (
                tau_b_or_worst(affinity.score(held_out.sums), held_out.quality) for affinity in (initial, fitted)
            )
        taus.append((before, after))
    return CrossValidation(tuple(before for before, _ in taus), tuple(after for _, after in taus))
