"""Which words of a sentence a denial reaches."""

from __future__ import annotations

import re

from radreward.text.lexicon import cue, lowered

_PERCEIVED = (
    "seen|identified|noted|present|demonstrated|evident|visualized|appreciated|detected|visible|found|observed|shown"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|appears?|remains?|has|have|shows?|demonstrates?)\b(?!\s+(?:\w+\s+)?(?:" + _PERCEIVED + "))"
)
"""A verb that states something; "is seen" after a list of what is denied does not."""
_BREAK = re.compile(r"[;:]|\.\s|\s--?\s")
_JOINT = re.compile(r",\s+(?!or\b|nor\b)|\s+and\s+")
_ASSERTED = re.compile(r"(?:and\s+)?(?:mild|moderate|severe|minimal|small|minor|slight|chronic|old|healed|low|the)\b")
"""Begins, after a comma, what is stated rather than denied, unless the list goes on to an "or"."""
_LIST = re.compile(r",\s+(?:and|or)\s+|^[^,]*\s+(?:and|or)\s+[^,]*$")


def denied(text: str) -> list[tuple[int, int]]:
    """The parts of a sentence that are denied, start and end.

    >>> text = "No effusion or edema, but stable cardiomegaly."
    >>> [text[start:end] for start, end in denied(text)]
    [' effusion or edema, ']
    """
    lower = lowered(text)
    closed = cue("open").sub(lambda match: "#" * len(match[0]), lower)
    before = [(match.end(), _end(closed, match.end())) for match in cue("denying").finditer(closed)]
    return before + [(_begin(lower, match.start()), match.start()) for match in cue("denied").finditer(closed)]


def _end(text: str, start: int) -> int:
    """Where a denial that begins here ends: at a word that ends it, or before a clause that states something."""
    end = min(
        [len(text), *(match.start() for pattern in (cue("ending"), _BREAK) if (match := pattern.search(text, start)))]
    )
    for joint in _JOINT.finditer(text, start, end):
        rest = text[joint.end() : end]
        clause = rest if "and" in joint[0] else re.split(r",\s", rest, maxsplit=1)[0]
        listed = re.search(r"\b(?:or|nor)\b", rest)
        if _VERB.search(clause) or (_ASSERTED.match(rest) and not listed):
            return joint.start()
    return end


def _begin(text: str, end: int) -> int:
    """Where a denial that stands behind its list begins."""
    begin = max([0, *(match.end() for pattern in (cue("ending"), _BREAK) for match in pattern.finditer(text, 0, end))])
    part = text[begin:end]
    return begin if "," not in part or _LIST.search(part) else begin + part.rindex(",") + 1
