"""Rows that are scored together: which of them can be, and what is kept of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from radreward.io.tables import Row
from radreward.scorers.base import SCORED, Problem, Scorer, problem


class Entry(NamedTuple):
    """What a scorer needs of a row: two texts, or why it cannot be scored."""

    reference: str = ""
    candidate: str = ""
    problem: Problem | None = None


class Chunk(NamedTuple):
    """Rows that stand together in the file and are scored together."""

    number: int
    """Its place among the chunks, from 0."""
    entries: list[Entry]


class Engine(Protocol):
    """Scores chunks somewhere."""

    def __call__(self, chunks: Iterable[Chunk], folder: Path) -> Iterator[tuple[int, str]]:
        """Number and `lines` of each chunk, in any order; `folder` is there for what it has to put down."""


class Here:
    """Scores one chunk after the other in this process.

    Args:
        scorer: What scores.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def __call__(self, chunks: Iterable[Chunk], folder: Path) -> Iterator[tuple[int, str]]:
        """See `Engine`."""
        for chunk in chunks:
            yield chunk.number, lines(self.scorer, chunk.entries)


def entry(row: Row, repeated: frozenset[int], first: dict[str, int]) -> Entry:
    """What a row is to a scorer.

    Args:
        row: The row.
        repeated: `digest` of the ids that stand in more than one row.
        first: The row in which each of these stood first; filled here, row after row.
    """
    found = _problem(row, repeated, first)
    return Entry(problem=found) if found else Entry(row.values["reference"], row.values["candidate"])


def digest(value: Any) -> int:
    """64 bits of a value's text."""
    return int.from_bytes(hashlib.blake2b(str(value).encode(errors="replace"), digest_size=8).digest(), "little")


def lines(scorer: Scorer, entries: list[Entry]) -> str:
    """A line of JSON for each entry: status, the field that is to blame or null, the scores or null.

    Of a scorer that explains, the evidence as a text of JSON besides, where there is any.
    """
    good = [entry for entry in entries if entry.problem is None]
    scores = scorer.score([entry.reference for entry in good], [entry.candidate for entry in good])
    sign = 1 if scorer.higher_is_better else -1
    columns = [(sign * scores.total).unsqueeze(1).tolist()]
    widths = len(scorer.sub_names), len(scorer.criteria) if scorer.criteria else 0
    for values, width in zip((scores.sub, scores.counts), widths, strict=True):
        columns.append([[None] * width] * len(good) if values is None else values.tolist())
    evidence = (None,) * len(good) if scores.evidence is None or not scorer.explains else scores.evidence
    rows = iter(zip(scores.status, evidence, *columns, strict=True))
    told: list[list[Any]] = []
    for found in (entry.problem for entry in entries):
        if found is not None:
            told.append([found.reason, found.field, None])
            continue
        status, shown, *scored = next(rows)
        if status in SCORED:
            told.append([status, None, [None if number != number else number for part in scored for number in part]])
        else:
            told.append([status, "reference" if "reference" in status else "candidate", None])
        if shown is not None:
            told[-1].append(json.dumps(shown._asdict()))
    return "".join(json.dumps(line) + "\n" for line in told)


def _problem(row: Row, repeated: frozenset[int], first: dict[str, int]) -> Problem | None:
    if row.problem:
        return Problem("", row.problem)
    name = row.values.get("id")
    if name is None or name != name or (isinstance(name, str) and not name.strip()):
        return Problem("id", "missing id")
    if not isinstance(name, str | int) or isinstance(name, bool):
        return Problem("id", f"expected a text or an integer as id but got {type(name).__name__}")
    if digest(name) in repeated:
        before = first.setdefault(str(name), row.number)
        if before != row.number:
            return Problem("id", f"duplicate id, first in row {before}")
    return problem(row.values.get("reference"), row.values.get("candidate"))
