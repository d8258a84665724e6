"""Related sentences as training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from radreward.data.record_datamodule import RecordData
from radreward.data.relation_io import RelatedSentences, read_relations


class RelationDataModule(RecordData[RelatedSentences]):
    """Records of related sentences, in batches of like length.

    Args:
        relations: Files, see `read_relations`.
        validation: A file of its own, or the fraction of records held out, by their first sentence.
        records_per_batch: Records in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    kind: ClassVar[str] = "relations"

    def __init__(
        self,
        relations: str | list[str],
        validation: float | str = 0.1,
        records_per_batch: int = 8,
        seed: int = 0,
    ) -> None:
        if records_per_batch < 1:
            raise ValueError(f"Expected `records_per_batch` to be >= 1 but got {records_per_batch}.")
        super().__init__(relations, validation, records_per_batch, seed)

    def read(self, file: str) -> Iterable[RelatedSentences]:
        """See `read_relations`."""
        return read_relations(file)

    def texts(self, record: RelatedSentences) -> Sequence[str]:
        """The sentences."""
        return record.sentences

    def counts(self, record: RelatedSentences) -> bool:
        """Whether any of them are related."""
        return bool(record.pairs)
