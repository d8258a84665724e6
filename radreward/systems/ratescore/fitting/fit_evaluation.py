"""Evaluation of a fit: agreement on held-out references, and bootstrap intervals of W and p."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch

from radreward.io.numbers import finite_or_none
from radreward.metrics.functional import count_concordant_pairs, kendall_tau_b, spearman
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.optimizers import AffinityOptimizer, to_vector
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches, tau_b_or_worst
from radreward.systems.ratescore.matching import NUM_TYPES

_ProgressIterator = Callable[[Iterable[int]], Iterable[int]]
"""Wraps an iterable to report progress."""


_INTERVAL = [(1 - 0.95) / 2, (1 + 0.95) / 2]
"""Quantiles of the 95 % intervals."""


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
    progress: _ProgressIterator = iter,
) -> CrossValidation:
    """Hold out each fold in turn, fit to the other folds and evaluate on it. Folds share no references.

    Each fit starts from `initial` and uses a fraction of its references, `early_stopping_split`, for early stopping.

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
                tau_b_or_worst(affinity.score(held_out.sums), held_out.targets) for affinity in (initial, fitted)
            )
        taus.append((before, after))
    return CrossValidation(tuple(before for before, _ in taus), tuple(after for _, after in taus))


class ConfidenceIntervals(NamedTuple):
    """95 % percentile intervals of W and p."""

    low: AffinityMatrix
    high: AffinityMatrix
    n_resamples: int


def bootstrap_affinity(
    optimizer: AffinityOptimizer,
    initial: AffinityMatrix,
    rated: RatedMatches,
    n_resamples: int = 100,
    seed: int = 0,
    progress: _ProgressIterator = iter,
) -> ConfidenceIntervals:
    """Return percentile intervals of W and p from fits to references that are resampled with replacement.

    Each fit starts from `initial`, and its W is scaled to a maximum of 1. A weight whose types never matched has its
    initial value.
    """
    rated = rated.drop_undefined()
    _, index = torch.unique(rated.group, return_inverse=True)
    members = [(index == group).nonzero().flatten() for group in range(int(index.max()) + 1)]
    generator = torch.Generator().manual_seed(seed)
    vectors = []
    for _ in progress(range(n_resamples)):
        groups = torch.randint(len(members), (len(members),), generator=generator).tolist()
        resampled = rated.select(torch.cat([members[group] for group in groups]))
        vectors.append(to_vector(optimizer.fit(initial, resampled).affinity))
    bounds = np.quantile(np.stack(vectors), _INTERVAL, axis=0)
    low, high = (
        AffinityMatrix(bound[:-1].reshape(NUM_TYPES, NUM_TYPES).tolist(), bound[-1], initial.penalty_rule)
        for bound in bounds
    )
    return ConfidenceIntervals(low, high, n_resamples)


def rank_agreement(affinity: AffinityMatrix, rated: RatedMatches) -> dict[str, float | None]:
    """Return rank correlations of scores and targets, and the fraction of candidate pairs in the right order.

    Pairs in which a report has no entity are left out. Undefined values are None.
    """
    defined = rated.select(rated.sums.defined)
    with torch.no_grad():
        scores = affinity.score(defined.sums)
    counts = count_concordant_pairs(scores[:, None], defined.targets[:, None], defined.group)
    concordant, comparable = (int(count.sum()) for count in counts)
    values: dict[str, float | None] = {
        "tau_b": kendall_tau_b(scores, defined.targets).item(),
        "spearman": spearman(scores, defined.targets).item(),
        "pair_accuracy": concordant / comparable if comparable else None,
    }
    return {name: finite_or_none(value, 6) for name, value in values.items()}
