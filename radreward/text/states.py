"""Findings in the form of a body part and its state, as in "the heart is mildly enlarged"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import read_sections

_GAP = (
    r"(?:\s(?:again|also|appears?|are|be|been|borderline|has|have|is|mild|minimal|moderate|not|noted|now|overall|"
    r"quite|remains?|seen|severe|size|slight|somewhat|stable|still|to|very|was|were|\w+ly)){1,6}\s"
)
"""Words between a body part and its state."""


class StateOfPart(NamedTuple):
    """A word for the state of a body part, as the name of a finding."""

    finding: str
    start: int
    end: int


def _rows(section: str) -> list[list[str]]:
    return [line.split(" | ") for line in read_sections("states.txt")[section]]


READ_NAMES = {name: key for key, names in _rows("names") for name in names.split("; ")}
"""Further names of findings, in lowercase → key."""
_FINDING_OF_STATE = {
    (part, state): key
    for key, parts, states in _rows("states")
    for part in parts.split("; ")
    for state in states.split("; ")
}
_PARTS, _STATES = (compile_phrases(words).pattern for words in zip(*_FINDING_OF_STATE, strict=True))
_PART_AND_STATE = re.compile(rf"(?P<part>{_PARTS}){_GAP}(?P<state>{_STATES})")


def states_of_parts(sentence: str) -> Iterator[StateOfPart]:
    """Yield the states in a lowercase sentence that are findings of the body part before them.

    >>> sentence = "the aorta is mildly tortuous and the heart is not enlarged."
    >>> [(state.finding, sentence[state.start : state.end]) for state in states_of_parts(sentence)]
    [('tortuous', 'tortuous'), ('cardiomegaly', 'enlarged')]
    """
    for match in _PART_AND_STATE.finditer(sentence):
        if key := _FINDING_OF_STATE.get((match["part"], match["state"])):
            yield StateOfPart(key, *match.span("state"))
