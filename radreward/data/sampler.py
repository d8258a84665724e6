"""Batches of groups of like length: the same for the same seed and epoch, on any number of processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, DistributedSampler

WINDOW = 50
"""Batches that are sorted by length together: large enough for little padding, small enough to stay shuffled."""


class LengthBuckets(DistributedSampler[Any]):
    """Shuffles groups, sorts them by length inside windows, and deals whole batches to the processes in turn.

    The last batch of an epoch may be smaller; where batches do not divide among processes, the first are dealt again.

    Args:
        lengths: Length of each group, in any unit.
        batch_size: Groups in a batch.
        seed: With the epoch, decides the order.
        shuffle: False keeps the order of the file.
        rank: This process.
        world_size: How many processes there are.

    >>> list(LengthBuckets([1, 2, 3], 2, shuffle=False))
    [[0, 1], [2]]
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"Expected `batch_size` to be >= 1 but got {batch_size}.")
        super().__init__(range(len(lengths)), world_size, rank, shuffle, seed)  # type: ignore[arg-type]  # sized is enough
        self.lengths, self.batch_size, self.start = list(lengths), batch_size, 0

    def __len__(self) -> int:
        batches = -(-len(self.lengths) // self.batch_size)
        return -(-batches // self.num_replicas)

    def __iter__(self) -> Iterator[Any]:
        order = list(range(len(self.lengths)))
        generator = torch.Generator().manual_seed(hash((self.seed, self.epoch)) % 2**63)
        if self.shuffle:
            order = torch.randperm(len(order), generator=generator).tolist()
        size = self.batch_size
        batches = []
        for begin in range(0, len(order), size * WINDOW):
            window = order[begin : begin + size * WINDOW]
            if self.shuffle:
                window.sort(key=lambda index: self.lengths[index])
            batches += [window[at : at + size] for at in range(0, len(window), size)]
        if self.shuffle:
            batches = [batches[at] for at in torch.randperm(len(batches), generator=generator).tolist()]
        total = len(self) * self.num_replicas
        batches = [batches[at % len(batches)] for at in range(total)]
        yield from batches[self.rank + self.start * self.num_replicas :: self.num_replicas]


class ResumableLoader(DataLoader[Any]):
    """A loader that Lightning saves in the middle of an epoch: its state is the number of batches handed out.

    Batches that workers prepared but nobody took are not counted, so a resumed epoch continues with the next one.
    """

    sampler: LengthBuckets
    _position = 0
    _resume = 0

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # a plain iterator is all that is needed
        self.sampler.start = self._position = self._resume
        self._resume = 0
        for batch in super().__iter__():
            self._position += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Batches of this epoch that were handed out; 0 at its end."""
        return {"position": self._position % max(len(self), 1)}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue the next epoch at this position."""
        self._resume = state["position"]
