"""A caching wrapper around a tagger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from radreward.io.lru_cache import BatchLRUCache
from radreward.systems.ratescore.taggers.base import Tagger
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.types import Entity


class CachingTagger(Tagger):
    """A tagger that caches the entities of sentences, since reports repeat many normal sentences.

    Args:
        tagger: The tagger.
        max_cached: Maximum number of cached sentences. The least recently used are dropped first.

    Raises:
        ValueError: If `max_cached` is less than 1.
    """

    def __init__(self, tagger: Tagger, max_cached: int = CACHED_SENTENCES) -> None:
        self.tagger = tagger
        self._cache = BatchLRUCache[tuple[Entity, ...]](max_cached)

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        entities = self._cache.get_or_compute(
            sentences, lambda missing: dict(zip(missing, self.tagger.tag(missing), strict=True))
        )
        return [entities[sentence] for sentence in sentences]

    def fingerprint(self) -> str:
        """Return the fingerprint of the tagger."""
        return self.tagger.fingerprint()

    def save_pretrained(self, folder: str | Path) -> None:
        """Save the tagger."""
        self.tagger.save_pretrained(folder)
