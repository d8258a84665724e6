"""Related sentences as training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from radreward.data.record_datamodule import RecordDataModule
from radreward.data.relation_io import SentenceRelations, read_relations


class RelationDataModule(RecordDataModule[SentenceRelations]):
    """Records of related sentences, in batches of similar length.

    Args:
        relations: One or several files, see `read_relations`.
        val_split: A separate file, or the fraction of records held out, by their first sentence.
        batch_size: Records per batch.
        seed: Decides the split and, with `seed_everything` and the epoch, the order.

    Raises:
        InputError: In `setup`, for invalid files.
    """

    record_name: ClassVar[str] = "relations"

    def __init__(
        self, relations: str | list[str], val_split: float | str = 0.1, batch_size: int = 8, seed: int = 0
    ) -> None:
        super().__init__(relations, val_split, batch_size, seed)

    def read(self, file: str) -> Iterable[SentenceRelations]:
        """See `read_relations`."""
        return read_relations(file)

    def texts(self, record: SentenceRelations) -> Sequence[str]:
        """Return the sentences."""
        return record.sentences

    def is_trainable(self, record: SentenceRelations) -> bool:
        """Return True if any sentences are related."""
        return bool(record.pairs)
