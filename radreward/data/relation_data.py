"""Related sentences as training data: batched as other records are, with the same split and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.utils.data import Dataset

from radreward.data.datamodule import TrainingData
from radreward.data.records import fingerprint
from radreward.data.relations import RelatedSentences, read_relations
from radreward.data.sampler import LengthBuckets, ResumableLoader
from radreward.data.split import held_out
from radreward.errors import InputError


class StoredRelations(Dataset[Any]):
    """Records in memory; indexed by a list of positions."""

    def __init__(self, records: Sequence[RelatedSentences]) -> None:
        self.records = list(records)

    def __getitem__(self, indices: list[int]) -> list[RelatedSentences]:
        return [self.records[index] for index in indices]

    def __len__(self) -> int:
        return len(self.records)


class RelationDataModule(TrainingData):
    """Records of related sentences, in batches of like length.

    Args:
        relations: Files, see `read_relations`.
        validation: A file of its own, or the fraction of records held out, by their first sentence.
        records_per_batch: Records in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    def __init__(
        self,
        relations: str | list[str],
        validation: float | str = 0.1,
        records_per_batch: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if records_per_batch < 1:
            raise ValueError(f"Expected `records_per_batch` to be >= 1 but got {records_per_batch}.")
        if not isinstance(validation, str) and not 0 < validation < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {validation}.")
        self.files = [relations] if isinstance(relations, str) else list(relations)
        if not self.files:
            raise ValueError("Expected `relations` to name a file but got none.")
        self.validation, self.records_per_batch, self.seed = validation, records_per_batch, seed
        self._parts: dict[str, StoredRelations] = {}

    def setup(self, stage: str | None = None) -> None:
        """Read the files once."""
        if self._parts:
            return
        read = [record for file in self.files for record in read_relations(file)]
        if isinstance(self.validation, str):
            parts = {"train": read, "validation": list(read_relations(self.validation))}
        else:
            parts = {"train": [], "validation": []}
            for record in read:
                held = held_out(record.sentences[0], self.validation, self.seed)
                parts["validation" if held else "train"].append(record)
        for part, records in parts.items():
            if not any(record.pairs for record in records):
                source = self.validation if part == "validation" and isinstance(self.validation, str) else self.files[0]
                raise InputError(f"{source}: expected pairs of sentences for {part} but there are none.")
        self._parts = {part: StoredRelations(records) for part, records in parts.items()}

    def _loader(self, part: str, shuffle: bool) -> ResumableLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._parts[part]
        lengths = [max(map(len, record.sentences)) for record in data.records]
        sampler = LengthBuckets(lengths, self.records_per_batch, self.seed, shuffle, rank, world)
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
