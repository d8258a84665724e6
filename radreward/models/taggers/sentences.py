"""Sentences of a report as taggers take them: by offsets, so that an entity can be shown where it stands."""

from __future__ import annotations

import re

_END = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=\S)"  # a stop and white space
    r"|(?<=[a-z]{2}\.)(?=[A-Z][a-z])"  # a stop and no white space, as reports often have
    r"|\s*\n\s*\n\s*"  # an empty line
    r"|\s*\n\s*(?=(?:[-*•]|\d{1,2}[.)])\s)"  # an item of a list
)
_NO_END = re.compile(
    r"(?:\b(?:dr|drs|mr|mrs|ms|prof|vs|approx|no|nos|st|fig|cf|e\.g|i\.e|a\.m|p\.m|resp|incl|ca)|^\s*[-*•]?\s*\d{1,2}|\b[A-Z])\.$",
    re.IGNORECASE,
)
"""What ends with a stop and does not end a sentence: abbreviations, the number of an item, an initial."""
_NO_WORD = re.compile(r"^(?:\b(?:no|nos)\.\s+)(?!\d)", re.IGNORECASE)


def sentences(report: str) -> list[tuple[int, int]]:
    """Where the sentences of a report begin and end; pieces without a letter or digit are left out.

    >>> text = "1. Mass of 2.5 cm, seen by Dr. XXXX. 2. No edema.Heart normal."
    >>> [text[start:end] for start, end in sentences(text)]
    ['1. Mass of 2.5 cm, seen by Dr. XXXX.', '2. No edema.', 'Heart normal.']
    """
    found: list[tuple[int, int]] = []
    begin = 0
    for match in _END.finditer(report):
        piece = report[begin : match.start()].rstrip("\"')] ")
        if "\n" not in match[0] and _NO_END.search(piece):
            continue
        found.append((begin, match.start()))
        begin = match.end()
    found.append((begin, len(report)))
    trimmed = (_trimmed(report, *span) for span in found)
    return [span for span in trimmed if re.search(r"[^\W_]", report[slice(*span)])]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
