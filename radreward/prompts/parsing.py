"""What a model's judgement says, read from its text: what cannot be read is None, with a reason, never a guess."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from radreward.criteria import Criterion

MAX_CHARACTERS = 100_000
"""Characters of an answer that are read; a longer one is none that was asked for."""
MAX_COUNT = 1000
"""Errors that a report can have at most; more is no count."""
_NUMBER = re.compile(r"[+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:[eE][+-]?\d{1,4})?", re.ASCII)


class ParsedAnswer(NamedTuple):
    """An answer, read by N criteria."""

    values: tuple[float | None, ...]
    """(N,) errors of each criterion, or None where they cannot be read."""
    parse_errors: tuple[str | None, ...]
    """(N,) why a value is None; None where it is not."""
    reasoning: str | None
    """What the answer says for its numbers; None where it has no such part."""
    format_error: str | None
    """The first thing that is not as it was asked for; None for an answer of the right form."""


def parse_failure(num_criteria: int, reason: str) -> ParsedAnswer:
    """An answer in which nothing can be read, for one reason.

    >>> unreadable(1, "empty")
    Parsed(values=(None,), reasons=('empty',), reasoning=None, problem='empty')
    """
    return ParsedAnswer((None,) * num_criteria, (reason,) * num_criteria, None, reason)


def parse_count(text: str, criterion: Criterion) -> tuple[float | None, str | None]:
    """The errors of a criterion as they are written, or None and why they are none.

    >>> omission = Criterion("omission", "Missing.")
    >>> read_number(" 1.0 ", omission), read_number("-3", omission)[1]
    ((1.0, None), "negative: '-3'")
    >>> [read_number(text, omission)[1] for text in ("two", "NaN", "1e999")]
    ["no number: 'two'", "no number: 'NaN'", "too large: '1e999'"]
    """
    written = text.strip()
    shown = repr(written if len(written) <= 20 else written[:20] + "…")
    if not _NUMBER.fullmatch(written):
        return None, f"no number: {shown}"
    value = float(written)
    if value < 0:
        return None, f"negative: {shown}"
    if not math.isfinite(value) or value > (1 if criterion.kind == "binary" else MAX_COUNT):
        return None, f"too large: {shown}"
    return value + 0.0, None  # -0 is 0
