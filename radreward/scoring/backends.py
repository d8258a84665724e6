"""Backends that score the chunks of a file: their interface, and the one in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from radreward.io.free_memory import return_free_memory
from radreward.scorers.base import Scorer
from radreward.scoring.input_scan import FileChunk
from radreward.scoring.score_columns import ScorerGroup
from radreward.types import Scores

ScoredChunk = tuple[FileChunk, list[Scores]]
"""A chunk, and the scores of its pairs by each scorer."""


class ScoringBackend(Protocol):
    """Scores chunks in this process or elsewhere."""

    def __call__(self, chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        """Yield each chunk with its scores, in any order; chunks are read as they are requested."""


class LocalBackend:
    """Scores one chunk after the other in this process."""

    def __init__(self, scorer: Scorer | ScorerGroup) -> None:
        self.scorers = ScorerGroup.of(scorer)

    def __call__(self, chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        """See `ScoringBackend`."""
        for chunk in chunks:
            yield chunk, self.scorers.score(chunk.pairs)
            return_free_memory()
