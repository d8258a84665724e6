"""Sentences with entities as training data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import ClassVar

from radreward.data.entity_io import LabelledSentence, read_sentences
from radreward.data.record_datamodule import RecordData
from radreward.data.split import normalised

logger = logging.getLogger(__name__)


class EntityDataModule(RecordData[LabelledSentence]):
    """Sentences with entities, in batches of like length.

    Args:
        sentences: Files, see `read_sentences`.
        validation: A file of its own, or the fraction of sentences held out.
        sentences_per_batch: Sentences in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    kind: ClassVar[str] = "sentences"

    def __init__(
        self,
        sentences: str | list[str],
        validation: float | str = 0.1,
        sentences_per_batch: int = 32,
        seed: int = 0,
    ) -> None:
        if sentences_per_batch < 1:
            raise ValueError(f"Expected `sentences_per_batch` to be >= 1 but got {sentences_per_batch}.")
        super().__init__(sentences, validation, sentences_per_batch, seed)

    def read(self, file: str) -> Iterable[LabelledSentence]:
        """See `read_sentences`."""
        return read_sentences(file)

    def texts(self, record: LabelledSentence) -> Sequence[str]:
        """The sentence."""
        return [record.text]

    def setup(self, stage: str | None = None) -> None:
        """Read the files once; tells of sentences that are in both parts."""
        if self._parts:
            return
        super().setup(stage)
        seen = {normalised(sentence.text) for sentence in self.training}
        validated = self._parts["validation"].records
        if known := sum(normalised(sentence.text) in seen for sentence in validated):
            logger.warning(
                "%d of the %d validation sentences are training sentences too: figures on them are flattered.",
                known,
                len(validated),
            )

    @property
    def training(self) -> list[LabelledSentence]:
        """The sentences to train on, after `setup`."""
        return self._parts["train"].records
