"""Base class of the data modules: files, validation split, batches by length, resume within an epoch."""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from lightning.pytorch import LightningDataModule
from torch import Tensor

from radreward.data.group_files import SizedDataset
from radreward.data.length_buckets import LengthBucketSampler, ResumableDataLoader
from radreward.data.records import data_fingerprint
from radreward.io.input_files import STANDARD_INPUT
from radreward.io.progress import ProgressReporter

T = TypeVar("T")


GLOBAL_SEED = "PL_GLOBAL_SEED"
"""Variable in which Lightning keeps `seed_everything`, also for the processes that it starts."""


class BaseDataModule(LightningDataModule, ABC):
    """Data to train on; `setup` fills `datasets` with the keys "train" and "validation".

    Args:
        files: Files of the training data.
        val_split: A separate file, or the fraction of records held out.
        batch_size: Records per batch.
        seed: Decides the split and, with `seed_everything` and the epoch, the order.
        num_workers: Processes that prepare batches; 0 prepares them in the main process.

    Raises:
        ValueError: If a setting is out of its range, or a file is standard input.
    """

    def __init__(
        self, files: Sequence[str], val_split: float | str, batch_size: int, seed: int = 0, num_workers: int = 0
    ) -> None:
        super().__init__()
        if STANDARD_INPUT in (*files, val_split):
            raise ValueError("Expected a file to train on but got standard input, which a run cannot read to resume.")
        if batch_size < 1:
            raise ValueError(f"Expected `batch_size` to be >= 1 but got {batch_size}.")
        if num_workers < 0:
            raise ValueError(f"Expected `num_workers` to be >= 0 but got {num_workers}.")
        if not isinstance(val_split, str) and not 0 < val_split < 1:
            raise ValueError(f"Expected `val_split` to be a file or in (0, 1) but got {val_split}.")
        self.files, self.val_split, self.batch_size = list(files), val_split, batch_size
        self.seed, self.num_workers = seed, num_workers
        self.tokens_per_batch: int | None = None
        self.train_weights: Tensor | None = None
        self.datasets: dict[str, SizedDataset] = {}
        self.collate_fn: Callable[[Any], Any] = list
        self.shows_progress = False  # of reading, on standard error

    def train_dataloader(self) -> ResumableDataLoader:
        """Return batches in an order that changes with the epoch."""
        return self._make_loader("train", True)

    def val_dataloader(self) -> ResumableDataLoader:
        """Return batches in the order of the file."""
        return self._make_loader("validation", False)

    def file_fingerprints(self) -> dict[str, str]:
        """Return the SHA-256 of each file or `hf:` name that is read; a run resumes on the same files only."""
        files = self.files + ([self.val_split] if isinstance(self.val_split, str) else [])
        return {file: data_fingerprint(file) for file in files}

    def report_reading(self, file: str, records: Iterable[T]) -> Iterator[T]:
        """Return the records of a file, and count them on standard error if `shows_progress` is set."""
        note = "all records, before the first step"
        return ProgressReporter(self.shows_progress).track(records, f"Reading {file}", unit="records", note=note)

    def _make_loader(self, split: str, shuffle: bool) -> ResumableDataLoader:
        rank, world_size = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        on_cuda = self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"
        data = self.datasets[split]
        weights = self.train_weights if shuffle else None
        order_seed = self.seed + int(os.environ.get(GLOBAL_SEED, "0"))  # seeds of a study have other orders, one split
        sampler = LengthBucketSampler(
            data.lengths, self.batch_size, order_seed, shuffle, rank, world_size, self.tokens_per_batch, weights
        )
        return ResumableDataLoader(
            data,
            batch_size=None,
            sampler=sampler,
            num_workers=self.num_workers,
            collate_fn=self.collate_fn,
            pin_memory=on_cuda,
        )
