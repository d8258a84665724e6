"""Which words of a sentence a denial reaches."""

from __future__ import annotations

import re

from radreward.text.lexicon import cue_pattern, lowercase_same_length

_PERCEPTION_WORDS = (
    "seen|identified|noted|present|demonstrated|evident|visualized|appreciated|detected|visible|found|observed|shown"
)
_STATING_VERB = re.compile(
    r"\b(?:is|are|was|were|appears?|remains?|has|have|shows?|demonstrates?)\b(?!\s+(?:\w+\s+)?(?:"
    + _PERCEPTION_WORDS
    + "))"
)
"""A verb that states something; "is seen" after a list of what is denied does not."""
_CLAUSE_BREAK = re.compile(r"[;:]|\.\s|\s--?\s")
_CONJUNCTION = re.compile(r",\s+(?!or\b|nor\b)|\s+and\s+")
_ASSERTION_START = re.compile(
    r"(?:and\s+)?(?:mild|moderate|severe|minimal|small|minor|slight|chronic|old|healed|low|the)\b"
)
"""Begins, after a comma, what is stated rather than denied, unless the list goes on to an "or"."""
_ENUMERATION = re.compile(r",\s+(?:and|or)\s+|^[^,]*\s+(?:and|or)\s+[^,]*$")


def negated_spans(text: str) -> list[tuple[int, int]]:
    """The parts of a sentence that are denied, start and end.

    >>> text = "No effusion or edema, but stable cardiomegaly."
    >>> [text[start:end] for start, end in denied(text)]
    [' effusion or edema, ']
    """
    lower = lowercase_same_length(text)
    closed = cue_pattern("open").sub(lambda match: "#" * len(match[0]), lower)
    before = [(match.end(), _scope_end(closed, match.end())) for match in cue_pattern("denying").finditer(closed)]
    return before + [
        (_scope_start(lower, match.start()), match.start()) for match in cue_pattern("denied").finditer(closed)
    ]


def _scope_end(text: str, start: int) -> int:
    """Where a denial that begins here ends: at a word that ends it, or before a clause that states something."""
    end = min(
        [
            len(text),
            *(
                match.start()
                for pattern in (cue_pattern("ending"), _CLAUSE_BREAK)
                if (match := pattern.search(text, start))
            ),
        ]
    )
    for joint in _CONJUNCTION.finditer(text, start, end):
        rest = text[joint.end() : end]
        clause = rest if "and" in joint[0] else re.split(r",\s", rest, maxsplit=1)[0]
        listed = re.search(r"\b(?:or|nor)\b", rest)
        if _STATING_VERB.search(clause) or (_ASSERTION_START.match(rest) and not listed):
            return joint.start()
    return end


def _scope_start(text: str, end: int) -> int:
    """Where a denial that stands behind its list begins."""
    begin = max(
        [
            0,
            *(
                match.end()
                for pattern in (cue_pattern("ending"), _CLAUSE_BREAK)
                for match in pattern.finditer(text, 0, end)
            ),
        ]
    )
    part = text[begin:end]
    return begin if "," not in part or _ENUMERATION.search(part) else begin + part.rindex(",") + 1
