"""The place of a finding in the words about it."""

from __future__ import annotations

import re
from itertools import islice

from radreward.text.findings import FINDINGS, stated_finding
from radreward.text.lexicon import compile_phrases
from radreward.text.locations import CARINA_DISTANCE, LOCATION_WORDS, canonical_location

LOCATION = re.compile(f"{compile_phrases(LOCATION_WORDS).pattern}|{CARINA_DISTANCE.pattern}")
"""Pattern of all places, in lowercase."""
_ENDS_IN = re.compile(r"\b(?:in|into|within) (?:the )?(?:(?:left|right) )?$")
_MAX_PLACES = 6
"""Places of a device that are tried, so that long texts of many places take no longer."""


def find_place(finding: str, own: str) -> re.Match[str] | None:
    """Return the place of a finding in its words: the first one, or that of a device that has no side.

    In "right PICC tip in the SVC", the side is that of the arm. A place outside those of a well placed device is its
    own only where it ends: "in the right internal jugular vein", not "via the subclavian vein".

    >>> places = [find_place("picc", words) for words in ("right #### tip in the svc", "right ####")]
    >>> [place and place[0] for place in places]
    ['svc', 'right']
    """
    first = LOCATION.search(own)
    allowed = FINDINGS[finding].locations
    if not first or not FINDINGS[finding].is_device or allowed_place(canonical_location(first[0]), allowed):
        return first
    for match in islice(LOCATION.finditer(own), _MAX_PLACES):
        place = canonical_location(match[0])
        is_end = stated_finding(finding, place) != finding and _ENDS_IN.search(own[: match.start()])
        if place in allowed or is_end:
            return match
    return first


def allowed_place(place: str | None, allowed: tuple[str, ...]) -> str | None:
    """Return the place, or only its side if the finding has no zones: an effusion at the left base is left.

    >>> allowed_place("left lower", ("left", "right"))
    'left'
    """
    if place in allowed:
        return place
    side = (place or "").split(" ")[0]
    return side if side in allowed else None
