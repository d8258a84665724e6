"""Sentences with entities as training data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import ClassVar

from radreward.data.entity_io import TaggedSentence, read_tagged_sentences
from radreward.data.record_datamodule import RecordDataModule
from radreward.data.split import normalize_text

logger = logging.getLogger(__name__)


class EntityDataModule(RecordDataModule[TaggedSentence]):
    """Sentences with entities, in batches of like length.

    Args:
        sentences: Files, see `read_sentences`.
        validation: A file of its own, or the fraction of sentences held out.
        sentences_per_batch: Sentences in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    record_name: ClassVar[str] = "sentences"

    def __init__(
        self,
        sentences: str | list[str],
        val_split: float | str = 0.1,
        batch_size: int = 32,
        seed: int = 0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"Expected `sentences_per_batch` to be >= 1 but got {batch_size}.")
        super().__init__(sentences, val_split, batch_size, seed)

    def read(self, file: str) -> Iterable[TaggedSentence]:
        """See `read_sentences`."""
        return read_tagged_sentences(file)

    def texts(self, record: TaggedSentence) -> Sequence[str]:
        """The sentence."""
        return [record.text]

    def setup(self, stage: str | None = None) -> None:
        """Read the files once; tells of sentences that are in both parts."""
        if self._datasets:
            return
        super().setup(stage)
        seen = {normalize_text(sentence.text) for sentence in self.train_sentences}
        validated = self._datasets["validation"].records
        if known := sum(normalize_text(sentence.text) in seen for sentence in validated):
            logger.warning(
                "%d of the %d validation sentences are training sentences too: figures on them are flattered.",
                known,
                len(validated),
            )

    @property
    def train_sentences(self) -> list[TaggedSentence]:
        """The sentences to train on, after `setup`."""
        return self._datasets["train"].records
