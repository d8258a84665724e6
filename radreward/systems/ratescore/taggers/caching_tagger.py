"""A tagger that tags no sentence twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from radreward.systems.ratescore.taggers.base import Tagger
from radreward.types import Entity


class CachingTagger(Tagger):
    """Another tagger, with the entities of the sentences that it has seen.

    Normal sentences are said over and over, in one report after the other and in reference and candidate alike.

    Args:
        tagger: What finds the entities.
        size: How many sentences are kept; those not seen for the longest time give way.

    Raises:
        ValueError: If `size` is less than 1.
    """

    def __init__(self, tagger: Tagger, max_cached: int = 50_000) -> None:
        if max_cached < 1:
            raise ValueError(f"Expected `size` to be >= 1 but got {max_cached}.")
        self.tagger, self.max_cached = tagger, max_cached
        self._cache: OrderedDict[str, tuple[Entity, ...]] = OrderedDict()

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        found: dict[str, tuple[Entity, ...]] = {}
        for text in dict.fromkeys(sentences):
            if (entities := self._cache.get(text)) is not None:
                self._cache.move_to_end(text)
                found[text] = entities
        missing = [text for text in dict.fromkeys(sentences) if text not in found]
        fresh = dict(zip(missing, self.tagger.tag(missing), strict=True)) if missing else {}
        found |= fresh
        self._cache |= fresh
        while len(self._cache) > self.max_cached:
            self._cache.popitem(last=False)
        return [found[text] for text in sentences]

    def fingerprint(self) -> str:
        """That of the tagger."""
        return self.tagger.fingerprint()

    def save_pretrained(self, folder: str | Path) -> None:
        """Save the tagger."""
        self.tagger.save_pretrained(folder)
