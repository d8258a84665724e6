"""Training data whose records are no groups of reports: read from files, split, batched by length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from torch.utils.data import Dataset

from radreward.data.datamodule import TrainingData
from radreward.data.length_buckets import LengthBuckets, ResumableLoader
from radreward.data.records import fingerprint
from radreward.data.split import held_out
from radreward.errors import InputError

T = TypeVar("T")


class StoredRecords(Dataset[Any], Generic[T]):
    """Records in memory; indexed by a list of positions."""

    def __init__(self, records: Sequence[T]) -> None:
        self.records = list(records)

    def __getitem__(self, indices: list[int]) -> list[T]:
        return [self.records[index] for index in indices]

    def __len__(self) -> int:
        return len(self.records)


class RecordData(TrainingData, Generic[T]):
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

    kind: ClassVar[str] = "records"
    """What messages call them; the setting of the files has this name too."""

    def __init__(self, files: str | list[str], validation: float | str, per_batch: int, seed: int) -> None:
        super().__init__()
        if not isinstance(validation, str) and not 0 < validation < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {validation}.")
        self.files = [files] if isinstance(files, str) else list(files)
        if not self.files:
            raise ValueError(f"Expected `{self.kind}` to name a file but got none.")
        self.validation, self.per_batch, self.seed = validation, per_batch, seed
        self._parts: dict[str, StoredRecords[T]] = {}

    @abstractmethod
    def read(self, file: str) -> Iterable[T]:
        """The records of a file."""

    @abstractmethod
    def texts(self, record: T) -> Sequence[str]:
        """What a record says: by the first it is held out or not, by the longest it is batched."""

    def counts(self, record: T) -> bool:
        """Whether there is anything to learn from it."""
        return True

    def setup(self, stage: str | None = None) -> None:
        """Read the files once.

        Raises:
            InputError: If a file cannot be used, or leaves a part without records.
        """
        if self._parts:
            return
        read = [record for file in self.files for record in self.read(file)]
        if isinstance(self.validation, str):
            parts = {"train": read, "validation": list(self.read(self.validation))}
        else:
            parts = {"train": [], "validation": []}
            for record in read:
                held = held_out(self.texts(record)[0], self.validation, self.seed)
                parts["validation" if held else "train"].append(record)
        for part, records in parts.items():
            if not any(self.counts(record) for record in records):
                source = self.validation if part == "validation" and isinstance(self.validation, str) else self.files[0]
                raise InputError(f"{source}: expected {self.kind} for {part} but none are left.")
        self._parts = {part: StoredRecords(records) for part, records in parts.items()}

    def _loader(self, part: str, shuffle: bool) -> ResumableLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._parts[part]
        lengths = [max(map(len, self.texts(record))) for record in data.records]
        sampler = LengthBuckets(lengths, self.per_batch, self.seed, shuffle, rank, world)
        return ResumableLoader(data, batch_size=None, sampler=sampler, collate_fn=list)

    def train_dataloader(self) -> ResumableLoader:
        """Batches in an order of their own in each epoch."""
        return self._loader("train", True)

    def val_dataloader(self) -> ResumableLoader:
        """Batches in the order of the file."""
        return self._loader("validation", False)

    def fingerprint(self) -> dict[str, str]:
        """sha256 of each file that is read."""
        files = self.files + ([self.validation] if isinstance(self.validation, str) else [])
        return {file: fingerprint(file) for file in files}
