"""Base class of data modules for records other than report groups: read, split, batched by length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.group_files import SizedDataset
from radreward.data.split import is_held_out
from radreward.errors import InputError

T = TypeVar("T")


class InMemoryDataset(SizedDataset, Generic[T]):
    """Records in memory, with the length of each."""

    def __init__(self, records: Sequence[T], lengths: Sequence[int]) -> None:
        self.records, self.lengths = list(records), lengths

    def __getitem__(self, indices: list[int]) -> list[T]:
        return [self.records[index] for index in indices]


class RecordDataModule(BaseDataModule, Generic[T]):
    """Records without candidates, in batches of similar length.

    Args:
        files: One or several files.
        val_split: A separate file, or the fraction of records held out, by their text.
        batch_size: Records per batch.
        seed: Decides the split and, with `seed_everything` and the epoch, the order.

    Raises:
        ValueError: If a setting is out of its range.
    """

    record_name: ClassVar[str] = "records"
    """Name of the records in messages, and of the constructor argument for the files."""

    def __init__(self, files: str | list[str], val_split: float | str, batch_size: int, seed: int) -> None:
        super().__init__([files] if isinstance(files, str) else files, val_split, batch_size, seed)
        if not self.files:
            raise ValueError(f"Expected `{self.record_name}` to name a file but got none.")

    @abstractmethod
    def read(self, file: str) -> Iterable[T]:
        """Return the records of a file."""

    @abstractmethod
    def texts(self, record: T) -> Sequence[str]:
        """Return the texts of a record: the first determines its split, the longest its length."""

    def is_trainable(self, record: T) -> bool:
        """Return True if a record has a training target."""
        return True

    def setup(self, stage: str | None = None) -> None:
        """Read the files once.

        Raises:
            InputError: If a file is invalid, or a split has no trainable record.
        """
        if self.datasets:
            return
        records = [record for file in self.files for record in self.report_reading(file, self.read(file))]
        if isinstance(self.val_split, str):
            splits = {
                "train": records,
                "validation": list(self.report_reading(self.val_split, self.read(self.val_split))),
            }
        else:
            splits = {"train": [], "validation": []}
            for record in records:
                held_out = is_held_out(self.texts(record)[0], self.val_split, self.seed)
                splits["validation" if held_out else "train"].append(record)
        for split, part in splits.items():
            if not any(map(self.is_trainable, part)):
                source = self.val_split if split == "validation" and isinstance(self.val_split, str) else self.files[0]
                raise InputError(f"{source}: Expected {self.record_name} for {split} but none are left.")
        self.datasets = {
            split: InMemoryDataset(part, [max(map(len, self.texts(record))) for record in part])
            for split, part in splits.items()
        }
