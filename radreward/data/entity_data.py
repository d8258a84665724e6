"""Sentences with entities as training data: records of another kind than reports, batched in the same way."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from torch.utils.data import Dataset

from radreward.data.datamodule import TrainingData
from radreward.data.entities import LabelledSentence, read_sentences
from radreward.data.records import fingerprint
from radreward.data.sampler import LengthBuckets, ResumableLoader
from radreward.data.split import held_out, normalised
from radreward.errors import InputError

logger = logging.getLogger(__name__)


class StoredSentences(Dataset[Any]):
    """Sentences in memory; indexed by a list of positions."""

    def __init__(self, sentences: Sequence[LabelledSentence]) -> None:
        self.sentences = list(sentences)

    def __getitem__(self, indices: list[int]) -> list[LabelledSentence]:
        return [self.sentences[index] for index in indices]

    def __len__(self) -> int:
        return len(self.sentences)


class EntityDataModule(TrainingData):
    """Sentences with entities, in batches of like length.

    A sentence has no candidates, no errors and no criteria, so `PairedReportDataModule` has nothing to pair in it; what
    they share, the split, the order of batches and the place in it of a run that is continued, is the same code.

    Args:
        sentences: Files, see `read_sentences`.
        validation: A file of its own, or the fraction of sentences held out.
        sentences_per_batch: Sentences in a batch.
        seed: Decides the split and, with the epoch, the order.

    Raises:
        InputError: In `setup`, for files that cannot be used.
    """

    def __init__(
        self,
        sentences: str | list[str],
        validation: float | str = 0.1,
        sentences_per_batch: int = 32,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if sentences_per_batch < 1:
            raise ValueError(f"Expected `sentences_per_batch` to be >= 1 but got {sentences_per_batch}.")
        if not isinstance(validation, str) and not 0 < validation < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {validation}.")
        self.files = [sentences] if isinstance(sentences, str) else list(sentences)
        if not self.files:
            raise ValueError("Expected `sentences` to name a file but got none.")
        self.validation, self.sentences_per_batch, self.seed = validation, sentences_per_batch, seed
        self._parts: dict[str, StoredSentences] = {}

    def setup(self, stage: str | None = None) -> None:
        """Read the files once."""
        if self._parts:
            return
        read = [sentence for file in self.files for sentence in read_sentences(file)]
        if isinstance(self.validation, str):
            parts = {"train": read, "validation": list(read_sentences(self.validation))}
        else:
            parts = {"train": [], "validation": []}
            for sentence in read:
                held = held_out(sentence.text, self.validation, self.seed)
                parts["validation" if held else "train"].append(sentence)
        for part, sentences in parts.items():
            if not sentences:
                source = self.validation if part == "validation" and isinstance(self.validation, str) else self.files[0]
                raise InputError(f"{source}: expected sentences for {part} but none are left.")
        seen = {normalised(sentence.text) for sentence in parts["train"]}
        if known := sum(normalised(sentence.text) in seen for sentence in parts["validation"]):
            logger.warning(
                "%d of the %d validation sentences are training sentences too: figures on them are flattered.",
                known,
                len(parts["validation"]),
            )
        self._parts = {part: StoredSentences(sentences) for part, sentences in parts.items()}

    @property
    def training(self) -> list[LabelledSentence]:
        """The sentences to train on, after `setup`."""
        return self._parts["train"].sentences

    def _loader(self, part: str, shuffle: bool) -> ResumableLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._parts[part]
        lengths = [len(sentence.text) for sentence in data.sentences]
        sampler = LengthBuckets(lengths, self.sentences_per_batch, self.seed, shuffle, rank, world)
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
