"""Pairs of reports, and functions that score them, for files, data frames, benchmarks and the web service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from radreward.io.progress import ProgressReporter
from radreward.scorers.base import Scorer, concatenate_scores
from radreward.text.patient_context import PatientContext
from radreward.types import Scores


class Pairs(NamedTuple):
    """Candidates, their references, and the contexts of their patients."""

    references: Sequence[Any]
    candidates: Sequence[Any]
    contexts: Sequence[PatientContext | None] | None = None
    """Age and indication of each patient; None if there are none."""

    def part(self, rows: slice) -> Pairs:
        """Return a range of the pairs."""
        contexts = None if self.contexts is None else self.contexts[rows]
        return Pairs(self.references[rows], self.candidates[rows], contexts)


def score_pairs(scorer: Scorer, pairs: Pairs) -> Scores:
    """Return the scores of pairs; only a scorer that uses contexts gets them, see `Scorer.uses_context`."""
    if pairs.contexts is not None and scorer.uses_context:
        return scorer.score(*pairs)
    return scorer.score(pairs.references, pairs.candidates)


def score_in_chunks(scorer: Scorer, pairs: Pairs, progress: bool = True) -> Scores:
    """Return the scores of any number of pairs, scored in chunks; `progress` shows progress on standard error."""
    parts = []
    with ProgressReporter(enabled=progress) as reporter:
        title = scorer.title or type(scorer).__name__
        task = reporter.add_task(f"Scoring with {title}", len(pairs.references), unit="pairs")
        for start in range(0, max(len(pairs.references), 1), scorer.chunk_size):
            parts.append(score_pairs(scorer, pairs.part(slice(start, start + scorer.chunk_size))))
            reporter.advance(task, len(parts[-1].status))
    return concatenate_scores(parts)
