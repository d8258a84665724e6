"""Words for the change of a finding since a prior study."""

from __future__ import annotations

import re
from typing import Literal, cast

from radreward.text.facts import Change
from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import phrases_of, read_sections

_SECTIONS = cast("dict[Change | Literal['none'], tuple[str, ...]]", read_sections("changes.txt"))
CHANGE_OF_PHRASE: dict[str, Change | None] = {
    phrase: None if change == "none" else change for change, lines in _SECTIONS.items() for phrase in phrases_of(lines)
}
CHANGE = compile_phrases(CHANGE_OF_PHRASE)
"""Pattern of all phrases of change, in lowercase."""
_SIDE = r"(?:left|right|[lr])"
_SIDES_COMPARED = re.compile(
    rf"\b(?:the )?{_SIDE}(?: side)?,? (?:(?:is|are|being|much|slightly|somewhat) )*(?:(?:more|less) )?(?:\w+ )?"
    rf"(?:>|than) ?(?:the |on the )?{_SIDE}\b"
)
_PRIOR_STUDY = re.compile(r"\b(?:prior|previous|previously|interval|compared|since|before)\b", re.IGNORECASE)


def change_of(masked: str) -> Change | None:
    """Return the change of the name that is masked by # in a lowercase text.

    A phrase that ends with "of" or "in" is about what follows.

    >>> change_of("#### after removal of the drain"), change_of("interval removal of the ####")
    (None, 'resolved')
    """
    name = masked.find("#")
    for phrase in CHANGE.finditer(masked):
        if phrase.end() <= name or not phrase[0].endswith((" of", " in")):
            return CHANGE_OF_PHRASE[phrase[0]]
    return None


def without_compared_sides(masked: str) -> str:
    """Return a lowercase text in which ~ masks comparisons of sides, which are neither places nor changes.

    >>> without_compared_sides("bilateral #######, left larger than right.")
    'bilateral #######, ~~~~~~~~~~~~~~~~~~~~~~.'
    """
    if "than" not in masked and ">" not in masked:
        return masked
    return _SIDES_COMPARED.sub(lambda match: "~" * len(match[0]), masked)


def mentions_change(sentence: str) -> bool:
    """Return True if a sentence mentions a change or a prior study.

    >>> mentions_change("It is larger than on the prior film."), mentions_change("It is large.")
    (True, False)
    """
    return bool(CHANGE.search(sentence.lower()) or _PRIOR_STUDY.search(sentence))
