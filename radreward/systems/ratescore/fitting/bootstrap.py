"""Bootstrap intervals of W and p over references."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.cross_validation import ProgressIterator
from radreward.systems.ratescore.fitting.optimizers import AffinityOptimizer, to_vector
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches
from radreward.systems.ratescore.matching import NUM_TYPES


class ConfidenceIntervals(NamedTuple):
    """Percentile intervals of W and p."""

    low: AffinityMatrix
    high: AffinityMatrix
    n_resamples: int


def bootstrap_affinity(
    optimizer: AffinityOptimizer,
    initial: AffinityMatrix,
    rated: RatedMatches,
    n_resamples: int = 100,
    level: float = 0.95,
    seed: int = 0,
    progress: ProgressIterator = iter,
) -> ConfidenceIntervals:
    """Fit to references resampled with replacement, and return percentile intervals of each weight.

    W has a maximum of 1 in each fit. Weights of types that never met keep their initial values.

    Args:
        optimizer: The optimizer.
        initial: Initial weights of each fit.
        rated: All pairs.
        n_resamples: Number of fits.
        level: Confidence level.
        seed: Seed of the resampling.
        progress: Wraps the loop over fits.
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
    bounds = np.quantile(np.stack(vectors), [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = (
        AffinityMatrix(bound[:-1].reshape(NUM_TYPES, NUM_TYPES).tolist(), bound[-1], initial.penalty_rule)
        for bound in bounds
    )
    return ConfidenceIntervals(low, high, n_resamples)
