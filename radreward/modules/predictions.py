"""Validation predictions of a run, and the Parquet file that stores them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.io.atomic import atomic_file
from radreward.types import FindingWeightsBatch


class ScoredCandidates(NamedTuple):
    """Rewards of candidates with known errors."""

    rewards: Tensor
    """(n, N)."""
    errors: Tensor
    """(n, N) target error counts."""
    group: Tensor
    """(n,) int64: index of the reference."""
    finding_weights: FindingWeightsBatch | None = None
    """None if the model does not predict them."""


class PredictedCounts(NamedTuple):
    """Error counts that a model stated for n validation candidates."""

    counts: Tensor
    """(n, N) predicted; NaN if unparsable."""
    target: Tensor
    """(n, N)."""
    group_ids: tuple[str, ...]
    """(n,) ids of the candidates' groups."""

    @property
    def group(self) -> Tensor:
        """(n,) int64: index of each group id, in order of first appearance.

        >>> PredictedCounts(torch.zeros(3, 1), torch.zeros(3, 1), ("b", "b", "a")).group
        tensor([0, 0, 1])
        """
        index: dict[str, int] = {}
        return torch.tensor([index.setdefault(name, len(index)) for name in self.group_ids])

    @classmethod
    def concatenate(cls, parts: Sequence[PredictedCounts]) -> PredictedCounts:
        """Return the candidates of all parts, in order."""
        return cls(
            torch.cat([part.counts for part in parts]),
            torch.cat([part.target for part in parts]),
            tuple(name for part in parts for name in part.group_ids),
        )

    def write(self, path: Path, criteria: Criteria) -> None:
        """Write the file of `write_predictions`, with the rewards of the predicted counts."""
        rewards = criteria.target_rewards(self.counts) + 0.0  # -0 is 0
        candidates = ScoredCandidates(rewards, self.target, self.group)
        write_predictions(path, criteria, candidates, tuple(dict.fromkeys(self.group_ids)))


def write_predictions(path: Path, criteria: Criteria, candidates: ScoredCandidates, group_ids: Sequence[str]) -> None:
    """Write every validation candidate to Parquet, for pairwise comparison of runs on the same data.

    Columns: `group` (its entry in `group_ids`), `candidate` (position in its group, from 0), and `reward/TAG` and
    `errors/TAG` per criterion.
    """
    group = candidates.group.tolist()
    first_row: dict[int, int] = {}
    columns: dict[str, Any] = {
        "group": [group_ids[index] for index in group],
        "candidate": [row - first_row.setdefault(index, row) for row, index in enumerate(group)],
    }
    for name, values in (("reward", candidates.rewards), ("errors", candidates.errors)):
        columns |= {f"{name}/{tag}": column.numpy() for tag, column in zip(criteria.tags, values.T, strict=True)}
    with atomic_file(path) as new:
        pq.write_table(pa.table(columns), new, write_page_checksum=True)
