"""Rows that are scored together: which of them can be, and what is kept of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from radreward.io.tables import TableRow
from radreward.scorers.base import SCORED_STATUSES, PairError, Scorer, validate_pair


class ScoringRow(NamedTuple):
    """What a scorer needs of a row: two texts, or why it cannot be scored."""

    reference: str = ""
    candidate: str = ""
    error: PairError | None = None


class Chunk(NamedTuple):
    """Rows that stand together in the file and are scored together."""

    number: int
    """Its place among the chunks, from 0."""
    rows: list[ScoringRow]


class ScoringBackend(Protocol):
    """Scores chunks somewhere."""

    def __call__(self, chunks: Iterable[Chunk], folder: Path) -> Iterator[tuple[int, str]]:
        """Number and `lines` of each chunk, in any order; `folder` is there for what it has to put down."""


class LocalBackend:
    """Scores one chunk after the other in this process.

    Args:
        scorer: What scores.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def __call__(self, chunks: Iterable[Chunk], folder: Path) -> Iterator[tuple[int, str]]:
        """See `ScoringBackend`."""
        for chunk in chunks:
            yield chunk.number, score_to_jsonl(self.scorer, chunk.rows)


def to_scoring_row(row: TableRow, duplicate_hashes: frozenset[int], first_rows: dict[str, int]) -> ScoringRow:
    """What a row is to a scorer.

    Args:
        row: The row.
        repeated: `digest` of the ids that stand in more than one row.
        first: The row in which each of these stood first; filled here, row after row.
    """
    found = _find_row_error(row, duplicate_hashes, first_rows)
    return ScoringRow(error=found) if found else ScoringRow(row.values["reference"], row.values["candidate"])


def hash64(value: Any) -> int:
    """64 bits of a value's text."""
    return int.from_bytes(hashlib.blake2b(str(value).encode(errors="replace"), digest_size=8).digest(), "little")


def score_to_jsonl(scorer: Scorer, rows: list[ScoringRow]) -> str:
    """A line of JSON for each entry: status, the field that is to blame or null, the scores or null.

    Of a scorer that explains, the evidence as a text of JSON besides, where there is any.
    """
    good = [entry for entry in rows if entry.error is None]
    scores = scorer.score([entry.reference for entry in good], [entry.candidate for entry in good])
    sign = 1 if scorer.higher_is_better else -1
    columns = [(sign * scores.total).unsqueeze(1).tolist()]
    widths = len(scorer.sub_names), len(scorer.criteria) if scorer.criteria else 0
    for values, width in zip((scores.sub_scores, scores.error_counts), widths, strict=True):
        columns.append([[None] * width] * len(good) if values is None else values.tolist())
    evidence = (None,) * len(good) if scores.evidence is None or not scorer.returns_explanations else scores.evidence
    scored_rows = iter(zip(scores.status, evidence, *columns, strict=True))
    told: list[list[Any]] = []
    for found in (entry.error for entry in rows):
        if found is not None:
            told.append([found.reason, found.field, None])
            continue
        status, shown, *scored = next(scored_rows)
        if status in SCORED_STATUSES:
            told.append([status, None, [None if number != number else number for part in scored for number in part]])
        else:
            told.append([status, "reference" if "reference" in status else "candidate", None])
        if shown is not None:
            told[-1].append(json.dumps(shown._asdict()))
    return "".join(json.dumps(line) + "\n" for line in told)


def _find_row_error(row: TableRow, duplicate_hashes: frozenset[int], first_rows: dict[str, int]) -> PairError | None:
    if row.error:
        return PairError("", row.error)
    name = row.values.get("id")
    if name is None or name != name or (isinstance(name, str) and not name.strip()):
        return PairError("id", "missing id")
    if not isinstance(name, str | int) or isinstance(name, bool):
        return PairError("id", f"expected a text or an integer as id but got {type(name).__name__}")
    if hash64(name) in duplicate_hashes:
        before = first_rows.setdefault(str(name), row.number)
        if before != row.number:
            return PairError("id", f"duplicate id, first in row {before}")
    return validate_pair(row.values.get("reference"), row.values.get("candidate"))
