"""Related sentences as training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from radreward.data.record_datamodule import RecordDataModule
from radreward.data.relation_io import SentenceRelations, read_relations


class RelationDataModule(RecordDataModule[SentenceRelations]):
    """Records of related sentences, in batches of like length.

    Args:
        relations: Files, see `read_relations`.
        validation: A file of its own, or the fraction of records held out, by their first sentence.
        records_per_batch: Records in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    record_name: ClassVar[str] = "relations"

    def __init__(
        self,
        relations: str | list[str],
        val_split: float | str = 0.1,
        batch_size: int = 8,
        seed: int = 0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"Expected `records_per_batch` to be >= 1 but got {batch_size}.")
        super().__init__(relations, val_split, batch_size, seed)

    def read(self, file: str) -> Iterable[SentenceRelations]:
        """See `read_relations`."""
        return read_relations(file)

    def texts(self, record: SentenceRelations) -> Sequence[str]:
        """The sentences."""
        return record.sentences

    def is_trainable(self, record: SentenceRelations) -> bool:
        """Whether any of them are related."""
        return bool(record.pairs)
