"""What all taggers share: sentences in, entities out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Entity


class Tagger(ABC):
    """Finds the medical entities of sentences (RaTEScore, section 2.2)."""

    @abstractmethod
    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """The entities of each sentence, in the order and number of the sentences.

        Entities stand in the order of the text and do not overlap; their offsets count from the sentence's beginning.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """What the entities depend on: taggers with equal fingerprints find the same."""

    @abstractmethod
    def save_pretrained(self, folder: str | Path) -> None:
        """Write what `load_tagger` reads: JSON that names the kind, and weights as safetensors where there are any."""

    def tag_reports(self, reports: Sequence[str]) -> list[tuple[Entity, ...]]:
        """The entities of each report, by their offsets in it; a report without sentences has none.

        >>> from radreward.systems.ratescore.taggers import RuleTagger
        >>> RuleTagger().tag_reports(["Clear lungs. No effusion."])[0][-1]
        Entity(name='effusion', type='Non-Abnormality', start=16, end=24)
        """
        spans = [sentence_spans(report) for report in reports]
        texts = [report[slice(*span)] for report, found in zip(reports, spans, strict=True) for span in found]
        distinct = list(dict.fromkeys(texts))
        tagged = dict(zip(distinct, self.tag(distinct), strict=True))
        return [
            tuple(
                entity._replace(start=entity.start + start, end=entity.end + start)
                for start, end in found
                for entity in tagged[report[start:end]]
            )
            for report, found in zip(reports, spans, strict=True)
        ]
