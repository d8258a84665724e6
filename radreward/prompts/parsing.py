"""Parsed answers of a model; an unparsable value is None with a reason."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from radreward.criteria import Criterion

MAX_CHARACTERS = 100_000
"""Maximum length of an answer; longer ones are not parsed."""
MAX_COUNT = 1000
"""Largest number of errors that is accepted."""
_CODE_FENCE = re.compile(r"^[^\S\n]*+(?:```|~~~)[^\n]*$", re.M)
_NUMBER = re.compile(r"[+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:[eE][+-]?\d{1,4})?", re.ASCII)


class ParsedAnswer(NamedTuple):
    """An answer, parsed by N criteria."""

    values: tuple[float | None, ...]
    """(N,) number of errors per criterion; None if unparsable."""
    parse_errors: tuple[str | None, ...]
    """(N,) reason for each unparsable value; None if it is parsed."""
    reasoning: str | None
    """Explanation before the numbers; None if the answer has none."""
    format_error: str | None
    """First deviation from the requested format; None if there is none."""


def without_code_fences(answer: str) -> str:
    r"""Return an answer without the lines that begin or end a block of code, and with line feeds as its only line ends.

    >>> without_code_fences("```text\r\nomission: 1\r\n```")
    '\nomission: 1\n'
    """
    return _CODE_FENCE.sub("", answer.replace("\r\n", "\n").replace("\r", "\n"))


def parse_failure(num_criteria: int, reason: str) -> ParsedAnswer:
    """Return the result for an unparsable answer.

    >>> parse_failure(1, "empty")
    ParsedAnswer(values=(None,), parse_errors=('empty',), reasoning=None, format_error='empty')
    """
    return ParsedAnswer((None,) * num_criteria, (reason,) * num_criteria, None, reason)


def parse_count(text: str, criterion: Criterion) -> tuple[float | None, str | None]:
    """Return the number of errors of a criterion, or None and the reason.

    >>> omission = Criterion("omission", "Missing.")
    >>> parse_count(" 1.0 ", omission), parse_count("-3", omission)[1]
    ((1.0, None), "negative: '-3'")
    >>> [parse_count(text, omission)[1] for text in ("two", "NaN", "1e999")]
    ["no number: 'two'", "no number: 'NaN'", "too large: '1e999'"]
    """
    number = text.strip()
    quoted = repr(number if len(number) <= 20 else number[:20] + "…")
    if not _NUMBER.fullmatch(number):
        return None, f"no number: {quoted}"
    value = float(number)
    if value < 0:
        return None, f"negative: {quoted}"
    if not math.isfinite(value) or value > (1 if criterion.kind == "binary" else MAX_COUNT):
        return None, f"too large: {quoted}"
    return value + 0.0, None  # turns -0.0 into 0.0
