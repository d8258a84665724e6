"""Scores of many pairs in memory, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from radreward.io.progress import ProgressReporter
from radreward.scorers.base import Scorer
from radreward.text.patient_context import PatientContext
from radreward.types import Scores

if TYPE_CHECKING:
    from torch import Tensor

CHUNK_SIZE = 512
"""Pairs that are scored together."""


def score_in_chunks(
    scorer: Scorer,
    references: Sequence[Any],
    candidates: Sequence[Any],
    progress: bool = True,
    contexts: Sequence[PatientContext | None] | None = None,
) -> Scores:
    """Return the scores of all pairs, scored in chunks.

    Args:
        scorer: The scorer.
        references: Reference reports.
        candidates: As many candidates.
        progress: Show progress on standard error.
        contexts: Age and indication of each patient, see `Scorer.score`.
    """
    parts = []
    with ProgressReporter(enabled=progress) as reporter:
        task = reporter.add_task(f"Scoring with {scorer.title or type(scorer).__name__}", len(references), unit="pairs")
        for start in range(0, max(len(references), 1), CHUNK_SIZE):
            chunk = slice(start, start + CHUNK_SIZE)
            pairs = references[chunk], candidates[chunk]
            parts.append(scorer.score(*pairs, contexts[chunk]) if contexts is not None else scorer.score(*pairs))
            reporter.advance(task, len(parts[-1].status))
    first, *others = parts
    return first if not others else _concatenate(parts)


def _concatenate(parts: Sequence[Scores]) -> Scores:
    import torch

    def join(tensors: Sequence[Tensor | None]) -> Tensor | None:
        return None if tensors[0] is None else torch.cat([tensor for tensor in tensors if tensor is not None])

    evidence = None if parts[0].evidence is None else tuple(row for part in parts for row in part.evidence or ())
    return parts[0]._replace(
        total=torch.cat([part.total for part in parts]),
        sub_scores=join([part.sub_scores for part in parts]),
        error_counts=join([part.error_counts for part in parts]),
        quality=join([part.quality for part in parts]),
        status=tuple(status for part in parts for status in part.status),
        evidence=evidence,
    )
