"""Sentences with entities as training data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from radreward.data.entity_io import TaggedSentence, read_tagged_sentences
from radreward.data.record_datamodule import InMemoryDataset, RecordDataModule
from radreward.data.split import normalize_text

logger = logging.getLogger(__name__)


class EntityDataModule(RecordDataModule[TaggedSentence]):
    """Sentences with entities, in batches of similar length.

    Args:
        sentences: One or several files, see `read_tagged_sentences`.
        val_split: A separate file, or the fraction of sentences held out.
        batch_size: Sentences per batch.
        seed: Decides the split and, with `seed_everything` and the epoch, the order.

    Raises:
        InputError: In `setup`, for invalid files.
    """

    record_name: ClassVar[str] = "sentences"

    def __init__(
        self, sentences: str | list[str], val_split: float | str = 0.1, batch_size: int = 32, seed: int = 0
    ) -> None:
        super().__init__(sentences, val_split, batch_size, seed)

    def read(self, file: str) -> Iterable[TaggedSentence]:
        """See `read_tagged_sentences`."""
        return read_tagged_sentences(file)

    def texts(self, record: TaggedSentence) -> Sequence[str]:
        """Return the sentence."""
        return [record.text]

    def setup(self, stage: str | None = None) -> None:
        """Read the files once; log how many sentences are in both splits."""
        if self.datasets:
            return
        super().setup(stage)
        train = {normalize_text(sentence.text) for sentence in self.train_sentences}
        validation = self._sentences("validation")
        if shared := sum(normalize_text(sentence.text) in train for sentence in validation):
            logger.warning(
                "%d of the %d validation sentences are training sentences too: validation metrics are too optimistic.",
                shared,
                len(validation),
            )

    @property
    def train_sentences(self) -> list[TaggedSentence]:
        """Sentences of the training split, after `setup`."""
        return self._sentences("train")

    def _sentences(self, split: str) -> list[TaggedSentence]:
        return cast("InMemoryDataset[TaggedSentence]", self.datasets[split]).records
