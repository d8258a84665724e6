"""Arrays of a benchmark: scores and targets of all pairs, oriented so that higher is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.rated_pairs import TOTAL_TARGETS, RatedPairs, Target
from radreward.meta_evaluation.scorer_runner import ScorerRun
from radreward.statistics.cluster_bootstrap import resample_clusters

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkArrays:
    """Scores and targets as arrays.

    Attributes:
        pairs: The rated pairs.
        scorer_runs: S runs.
        targets: T targets.
        x: (S, n) scores, higher is better.
        y: (T, n) targets, higher is better.
        cluster_ids: (n,) case of each pair.
        system_ids: (n,) index of the system, -1 if unknown.
        resample_counts: (B, G) bootstrap resamples of cases.
        seed: Seed of the tests.
        n_permutations: Maximum number of permutations per comparison of two scorers.
    """

    pairs: RatedPairs
    scorer_runs: list[ScorerRun]
    targets: list[Target]
    x: Floats
    y: Floats
    cluster_ids: Ints
    system_ids: Ints
    resample_counts: NDArray[np.integer]
    seed: int
    n_permutations: int

    @classmethod
    def from_pairs(
        cls, pairs: RatedPairs, scorer_runs: list[ScorerRun], n_resamples: int, seed: int, n_permutations: int
    ) -> Self:
        """Create the arrays of pairs and scorers."""
        n = len(pairs)
        values = [target.values if target.higher_is_better else -target.values for target in pairs.targets]
        return cls(
            pairs=pairs,
            scorer_runs=scorer_runs,
            targets=list(pairs.targets),
            x=np.array([run.higher_is_better_totals for run in scorer_runs]).reshape(len(scorer_runs), n),
            y=np.array(values).reshape(len(values), n),
            cluster_ids=pairs.cluster_ids,
            system_ids=pairs.system_ids,
            resample_counts=resample_clusters(pairs.num_clusters, n_resamples, seed),
            seed=seed,
            n_permutations=n_permutations,
        )

    def total_indices(self) -> list[int]:
        """Return the indices of the targets over all criteria."""
        return [index for index, target in enumerate(self.targets) if target.name in TOTAL_TARGETS]
