"""Batches of records of similar length, determined by seed and epoch, on any number of processes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed
from torch.utils.data import DataLoader, DistributedSampler

from radreward.errors import InputError

T = TypeVar("T")

SORT_WINDOW = 50
"""Batches that are sorted by length together: more means less padding, fewer means better shuffling."""


class LengthBucketSampler(DistributedSampler[Any]):
    """Shuffles groups, sorts them by length within windows, and assigns complete batches to the processes in turn.

    Distributed training requires the same number of batches on every process. With `shuffle`, the first batches are
    repeated to reach it. Without, as in evaluation, no group is repeated; groups are distributed evenly (with
    `batch_size` 1, a batch may then have two).

    Args:
        lengths: Length of each group, in any unit.
        batch_size: Maximum number of groups per batch.
        seed: With the epoch, decides the order.
        shuffle: False keeps the order of the file.
        rank: Index of this process.
        world_size: Number of processes.
        max_length: Maximum total length of a shuffled batch; a longer group is its own batch. A batch has only groups
            of which the same number fits, so that the number of batches does not depend on the epoch.
        weights: Unnormalized probability of each group: a shuffled epoch samples as many groups with replacement. By
            default, each group is used once.

    Raises:
        ValueError: If `batch_size` or `max_length` is less than 1, or `weights` is given with `max_length`, with which
            the number of batches would depend on the epoch.
        InputError: If there are fewer groups than processes.

    >>> list(LengthBucketSampler([1, 2, 3], 2, shuffle=False))
    [[0, 1], [2]]
    >>> sorted(map(sorted, LengthBucketSampler([5, 20, 4, 9, 3], 8, max_length=10)))
    [[0, 2], [1], [3], [4]]
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
        max_length: int | None = None,
        weights: Tensor | None = None,
    ) -> None:
        if weights is not None and max_length is not None:
            raise ValueError("Expected no `max_length` with `weights` but got both.")
        for name, value in (("batch_size", batch_size), ("max_length", max_length)):
            if value is not None and value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        if len(lengths) < world_size:
            raise InputError(
                f"Expected at least {world_size} groups for {world_size} processes but got {len(lengths)}."
            )
        super().__init__(range(len(lengths)), world_size, rank, shuffle, seed)  # type: ignore[arg-type]  # only its size is used
        self.lengths, self.weights, self.start_batch = list(lengths), weights, 0
        self._batch_sizes = [
            batch_size if max_length is None or not shuffle else min(batch_size, max(1, max_length // max(1, length)))
            for length in self.lengths
        ]

    def __len__(self) -> int:
        batches = sum(-(-count // size) for size, count in Counter(self._batch_sizes).items())
        per_process = -(-batches // self.num_replicas)
        return per_process if self.shuffle else min(per_process, len(self.lengths) // self.num_replicas)

    def __iter__(self) -> Iterator[Any]:
        batches = self._shuffled_batches() if self.shuffle else self._even_batches()
        total = len(self) * self.num_replicas
        batches = [batches[index % len(batches)] for index in range(total)]
        yield from batches[self.rank + self.start_batch * self.num_replicas :: self.num_replicas]

    def _shuffled_batches(self) -> list[list[int]]:
        generator = torch.Generator().manual_seed(hash((self.seed, self.epoch)) % 2**63)
        order: list[int] = self._sample_order(generator).tolist()
        batches = []
        for size in sorted(set(self._batch_sizes)):
            bucket = [index for index in order if self._batch_sizes[index] == size]
            for start in range(0, len(bucket), size * SORT_WINDOW):
                window = sorted(bucket[start : start + size * SORT_WINDOW], key=lambda index: self.lengths[index])
                batches += [window[i : i + size] for i in range(0, len(window), size)]
        return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]

    def _sample_order(self, generator: torch.Generator) -> Tensor:
        size = len(self.lengths)
        if self.weights is None:
            return torch.randperm(size, generator=generator)
        return torch.multinomial(self.weights, size, replacement=True, generator=generator)

    def _even_batches(self) -> list[list[int]]:
        groups, total = len(self.lengths), len(self) * self.num_replicas
        bounds = [-(-index * groups // total) for index in range(total + 1)]
        return [list(range(start, stop)) for start, stop in itertools.pairwise(bounds)]


def all_gather_in_order(batches: list[T]) -> list[T]:
    """Return the results of all processes, one per batch, in the order in which the sampler assigned the batches.

    Every process has to call it, and gets the same list.

    >>> all_gather_in_order([1, 2])
    [1, 2]
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return batches
    parts: list[list[T]] = [[] for _ in range(distributed.get_world_size())]
    distributed.all_gather_object(parts, batches)
    return [batch for step in zip(*parts, strict=True) for batch in step]


class ResumableDataLoader(DataLoader[Any]):
    """A loader that Lightning can save within an epoch: its state is the number of consumed batches.

    Batches that workers prepared ahead are not counted, so a resumed epoch continues with the next one.
    """

    sampler: LengthBucketSampler
    _position = 0
    _resume_position = 0

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # a plain iterator is enough
        self.sampler.start_batch = self._position = self._resume_position
        self._resume_position = 0
        for batch in super().__iter__():
            self._position += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return the number of consumed batches of this epoch; 0 at its end."""
        return {"position": self._position % max(len(self), 1)}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Start the next epoch at this position."""
        self._resume_position = state["position"]
