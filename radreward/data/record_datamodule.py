"""Training data whose records are no groups of reports: read from files, split, batched by length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from torch.utils.data import Dataset

from radreward.data.datamodule import BaseDataModule
from radreward.data.length_buckets import LengthBucketSampler, ResumableDataLoader
from radreward.data.split import is_held_out
from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint

T = TypeVar("T")


class InMemoryDataset(Dataset[Any], Generic[T]):
    """Records in memory; indexed by a list of positions."""

    def __init__(self, records: Sequence[T]) -> None:
        self.records = list(records)

    def __getitem__(self, indices: list[int]) -> list[T]:
        return [self.records[index] for index in indices]

    def __len__(self) -> int:
        return len(self.records)


class RecordDataModule(BaseDataModule, Generic[T]):
    """Records in batches of like length.

    A sentence has no candidates, so `PairedReportDataModule` has nothing to pair in it; what they share, the split, the
    order of batches and the place in it of a run that is continued, is the same code.

    Args:
        files: What to read.
        validation: A file of its own, or the fraction of records held out, by their text.
        per_batch: Records in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        ValueError: If a setting is out of its range.
    """

    record_name: ClassVar[str] = "records"
    """What messages call them; the setting of the files has this name too."""

    def __init__(self, files: str | list[str], val_split: float | str, batch_size: int, seed: int) -> None:
        super().__init__()
        if not isinstance(val_split, str) and not 0 < val_split < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {val_split}.")
        self.files = [files] if isinstance(files, str) else list(files)
        if not self.files:
            raise ValueError(f"Expected `{self.record_name}` to name a file but got none.")
        self.val_split, self.batch_size, self.seed = val_split, batch_size, seed
        self._datasets: dict[str, InMemoryDataset[T]] = {}

    @abstractmethod
    def read(self, file: str) -> Iterable[T]:
        """The records of a file."""

    @abstractmethod
    def texts(self, record: T) -> Sequence[str]:
        """What a record says: by the first it is held out or not, by the longest it is batched."""

    def is_trainable(self, record: T) -> bool:
        """Whether there is anything to learn from it."""
        return True

    def setup(self, stage: str | None = None) -> None:
        """Read the files once.

        Raises:
            InputError: If a file cannot be used, or leaves a part without records.
        """
        if self._datasets:
            return
        read = [record for file in self.files for record in self.read(file)]
        if isinstance(self.val_split, str):
            parts = {"train": read, "validation": list(self.read(self.val_split))}
        else:
            parts = {"train": [], "validation": []}
            for record in read:
                held = is_held_out(self.texts(record)[0], self.val_split, self.seed)
                parts["validation" if held else "train"].append(record)
        for part, records in parts.items():
            if not any(self.is_trainable(record) for record in records):
                source = self.val_split if part == "validation" and isinstance(self.val_split, str) else self.files[0]
                raise InputError(f"{source}: expected {self.record_name} for {part} but none are left.")
        self._datasets = {part: InMemoryDataset(records) for part, records in parts.items()}

    def _make_loader(self, split: str, shuffle: bool) -> ResumableDataLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._datasets[split]
        lengths = [max(map(len, self.texts(record))) for record in data.records]
        sampler = LengthBucketSampler(lengths, self.batch_size, self.seed, shuffle, rank, world)
        return ResumableDataLoader(data, batch_size=None, sampler=sampler, collate_fn=list)

    def train_dataloader(self) -> ResumableDataLoader:
        """Batches in an order of their own in each epoch."""
        return self._make_loader("train", True)

    def val_dataloader(self) -> ResumableDataLoader:
        """Batches in the order of the file."""
        return self._make_loader("validation", False)

    def file_fingerprints(self) -> dict[str, str]:
        """sha256 of each file that is read."""
        files = self.files + ([self.val_split] if isinstance(self.val_split, str) else [])
        return {file: file_fingerprint(file) for file in files}
