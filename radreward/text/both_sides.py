"""Both sides of one finding in a phrase: "small left and moderate right effusions"."""

from __future__ import annotations

import re

from radreward.text.severity import SEVERITY_OF_PHRASE

_SEVERITY = "|".join(sorted(map(re.escape, SEVERITY_OF_PHRASE), key=len, reverse=True))
_BOTH_SIDES = re.compile(
    r"\b(?P<first>left|right)(?:[- ]sided)? and "
    rf"(?P<second>(?:(?:an? )?(?:{_SEVERITY}) )?(?!(?P=first))(?:left|right))\b"
)
_BOUNDARY = re.compile(r"[,;:.]\s|\s(?:and|with|but|or|which|although|however)\s")


def find_both_sides(masked: str) -> list[re.Match[str]]:
    """Return the places of a sentence, its names masked by #, that state the two sides of one finding.

    "Atelectasis on the left and right effusion" has one side each of two findings.

    >>> [match[0] for match in find_both_sides("small left and moderate right ####")]
    ['left and moderate right']
    >>> find_both_sides("#### on the left and right ###")
    []
    """
    return [match for match in _BOTH_SIDES.finditer(masked) if _has_one_name(masked, match)]


def side_readings(own: str) -> tuple[str, ...]:
    """Return the words about one finding for each of its sides, or as they are if they do not state both.

    >>> side_readings("small left and moderate right lower lobe ####")
    ('small left lower lobe ####', 'moderate right lower lobe ####')
    >>> side_readings("small left ####")
    ('small left ####',)
    """
    for match in find_both_sides(own):
        before, after = own[: match.start("first")], own[match.end() :]
        return f"{before}{match['first']}{after}", f"{match['second']}{after}"
    return (own,)


def _has_one_name(masked: str, match: re.Match[str]) -> bool:
    """Return True if the clause names a finding on one side of the match only."""
    before, after = masked[: match.start()], masked[match.end() :]
    return ("#" in _BOUNDARY.split(before)[-1]) != ("#" in _BOUNDARY.split(after)[0])
