"""Findings as states of organs: sentences such as "The left lung has collapsed", most of which name no finding."""

from __future__ import annotations

import re
from typing import NamedTuple

from radreward.text.section_files import read_sections
from radreward.text.severity import SEVERITY_ADVERBS
from radreward.text.spelling import spellings

STATES: dict[str, tuple[str, ...]] = {
    key: tuple(sentences) for key, *sentences in (line.split(" | ") for line in read_sections("states.txt")["states"])
}
"""Sentences by finding. {side} needs a side; without {adverb}, no severity can be stated."""
_ADVERB_FIELD = "{adverb}"
_FINDING_OF_STATE = {
    form: (key, _ADVERB_FIELD in sentence)
    for key, sentences in STATES.items()
    for sentence in sentences
    for form in spellings(sentence.replace(_ADVERB_FIELD, "").removesuffix(".").lower())
}
"""The finding of each lowercase sentence without adverb and stop, and True if it may have an adverb."""
_SIDE = re.compile(r"\b(?:left|right)\b")
_SEVERITY_OF_ADVERB = {adverb: level for level, adverbs in SEVERITY_ADVERBS.items() for adverb in adverbs}
_ADVERB = re.compile(rf"\b({'|'.join(_SEVERITY_OF_ADVERB)}) ")


class OrganState(NamedTuple):
    """A finding that a sentence states as the state of an organ."""

    finding: str
    side: str | None
    severity: str | None
    side_span: tuple[int, int] | None
    severity_span: tuple[int, int] | None


def organ_state(lower: str) -> OrganState | None:
    """Return the finding of a lowercase sentence that is one of `STATES`, or None.

    >>> organ_state("the left hemidiaphragm is mildly elevated.")[:3]
    ('elevdia', 'left', 'mild')
    >>> organ_state("the left hemidiaphragm is not elevated.") is None
    True
    """
    adverb = _ADVERB.search(lower)
    words = _ADVERB.sub("", lower, count=1).rstrip(" .")
    for side in (None, _SIDE.search(lower)):
        found = _FINDING_OF_STATE.get(_SIDE.sub("{side}", words, count=1) if side else words)
        if found and (found[1] or not adverb):
            severity = _SEVERITY_OF_ADVERB[adverb[1]] if adverb else None
            spans = side.span() if side else None, adverb.span(1) if adverb else None
            return OrganState(found[0], side[0] if side else None, severity, *spans)
    return None
