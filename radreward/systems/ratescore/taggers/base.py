"""Base class of taggers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from radreward.text.recognition import addresses_reader
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Entity

CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"


class Tagger(ABC):
    """Tags the medical entities of sentences (RaTEScore, section 2.2)."""

    @abstractmethod
    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """Return the entities of each sentence, in text order, without overlap, with offsets in the sentence."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything that determines the entities."""

    @abstractmethod
    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder that `load_tagger` reads: JSON with the kind of the tagger, and its weights as safetensors."""

    def tag_reports(self, reports: Sequence[str]) -> list[tuple[Entity, ...]]:
        """Return the entities of each report, with offsets in it; a sentence that addresses the reader has none.

        >>> from radreward.systems.ratescore.taggers import RuleTagger
        >>> RuleTagger().tag_reports(["Clear lungs. No effusion."])[0][-1]
        Entity(name='effusion', type='Non-Abnormality', start=16, end=24)
        """
        spans = [
            [(start, end) for start, end in sentence_spans(report) if not addresses_reader(report[start:end])]
            for report in reports
        ]
        texts = [report[slice(*span)] for report, own in zip(reports, spans, strict=True) for span in own]
        distinct = list(dict.fromkeys(texts))
        tagged = dict(zip(distinct, self.tag(distinct), strict=True))
        return [
            tuple(
                entity._replace(start=entity.start + start, end=entity.end + start)
                for start, end in own
                for entity in tagged[report[start:end]]
            )
            for report, own in zip(reports, spans, strict=True)
        ]
