"""Backends that score chunks of pairs, and the one of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from radreward.scorers.base import Scorer
from radreward.types import Scores


class Chunk(NamedTuple):
    """Valid pairs of consecutive rows, scored together."""

    number: int
    """Index of the chunk in the file, from 0."""
    references: list[str]
    candidates: list[str]


class ScoringBackend(Protocol):
    """Scores chunks in this process or elsewhere."""

    def __call__(self, chunks: Iterable[Chunk]) -> Iterator[tuple[int, Scores]]:
        """Yield number and scores of each chunk, in any order; chunks are read from the file as they are requested."""


class LocalBackend:
    """Scores one chunk after the other in this process.

    Args:
        scorer: The scorer.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def __call__(self, chunks: Iterable[Chunk]) -> Iterator[tuple[int, Scores]]:
        """See `ScoringBackend`."""
        for chunk in chunks:
            yield chunk.number, self.scorer.score(chunk.references, chunk.candidates)
