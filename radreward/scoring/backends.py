"""Backends that score chunks of pairs, and the one of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from radreward.scorers.base import Scorer
from radreward.scoring.score_columns import ScorerGroup
from radreward.text.patient_context import PatientContext
from radreward.types import Scores


class Chunk(NamedTuple):
    """Valid pairs of consecutive rows, scored together."""

    number: int
    """Index of the chunk in the file, from 0."""
    references: list[str]
    candidates: list[str]
    contexts: list[PatientContext] | None = None
    """Age and indication of each patient; None if the file has neither."""


class ScoringBackend(Protocol):
    """Scores chunks in this process or elsewhere."""

    def __call__(self, chunks: Iterable[Chunk]) -> Iterator[tuple[int, list[Scores]]]:
        """Yield number and scores (by scorer) of each chunk, in any order; chunks are read as they are requested."""


class LocalBackend:
    """Scores one chunk after the other in this process.

    Args:
        scorer: The scorer, or several.
    """

    def __init__(self, scorer: Scorer | ScorerGroup) -> None:
        self.scorers = ScorerGroup.of(scorer)

    def __call__(self, chunks: Iterable[Chunk]) -> Iterator[tuple[int, list[Scores]]]:
        """See `ScoringBackend`."""
        for chunk in chunks:
            yield chunk.number, self.scorers.score(chunk.references, chunk.candidates, chunk.contexts)
