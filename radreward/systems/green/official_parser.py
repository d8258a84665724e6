"""GREEN's answers as the reference implementation reads them: for comparison with published numbers only.

It reads some answers wrongly: a count without a full stop is 0 errors, a blank line ends a section, capital letters are
ignored, a missing section is free of errors, and of a category that is there twice one line counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from radreward.systems.green.score import green_score

NUM_CATEGORIES = 6
_COUNT = re.compile(r"(?<=: )(\d{1,18})\.")
_LEADING_COUNT = re.compile(r"(\d{1,18})\.")


class OfficialCounts(NamedTuple):
    """What the reference implementation makes of an answer."""

    significant: tuple[int, ...]
    """(6,)"""
    insignificant: tuple[int, ...]
    """(6,)"""
    num_matched: int
    green: float


def parse_like_official(text: str) -> OfficialCounts:
    r"""Counts and score of an answer with GREEN's six categories; never raises.

    >>> answer = "[Clinically Significant Errors]:\n(a) False: 2. X; Y\n(b) Missing: 1\n\n[Matched Findings]:\n2. A; B"
    >>> read_as_reference(answer)
    ReferenceCounts(significant=(2, 0, 0, 0, 0, 0), insignificant=(0, 0, 0, 0, 0, 0), matched=2, green=0.5)
    """
    significant = _counts(_section(text, "Clinically Significant Errors"))
    insignificant = _counts(_section(text, "Clinically Insignificant Errors"))
    first = _LEADING_COUNT.match(_section(text, "Matched Findings"))
    matched = int(first[1]) if first else 0
    return OfficialCounts(significant, insignificant, matched, green_score(matched, significant))


def _section(text: str, name: str) -> str:
    """From behind the first heading of that name to the first blank line; nothing where there is none."""
    _, heading, rest = text.partition(f"[{name}]:")
    lines: list[str] = []
    for line in rest.lstrip().split("\n") if heading else ():
        if not line.strip() and lines:
            break
        lines.append(line)
    return "\n".join(lines)


def _counts(section: str) -> tuple[int, ...]:
    counts = [0] * NUM_CATEGORIES
    if section.startswith("No"):
        return tuple(counts)
    for markers in ("abcdef", "123456"):
        lines = sorted(part for line in section.split("\n") if (part := _from_label(line, markers)))
        for line in lines:  # in the order of their texts, so that the last of a category counts
            if found := _COUNT.search(line):
                counts[markers.index(line[1])] = int(found[1])
        if lines:
            break
    return tuple(counts)


def _from_label(line: str, labels: str) -> str:
    """The line from its first marker such as "(a) "; empty where it has none."""
    places = (line.find(f"({marker}) ") for marker in labels)
    found = [place for place in places if place >= 0]
    return line[min(found) :] if found else ""
