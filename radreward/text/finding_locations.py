"""The location of a finding in the words about it."""

from __future__ import annotations

import re
from itertools import chain, islice

from radreward.text.findings import FINDINGS, stated_finding
from radreward.text.lexicon import compile_phrases
from radreward.text.locations import CARINA_DISTANCE, LOCATION_WORDS, canonical_location

LOCATION = re.compile(f"{compile_phrases(LOCATION_WORDS).pattern}|{CARINA_DISTANCE.pattern}")
"""Pattern of all locations, in lowercase."""
_LIES_IN = re.compile(r"\b(?:in|into|within) (?:the )?(?:(?:left|right) )?$")
_ENDS_IN = re.compile(
    r"\b(?:coil\w*|directed|end|ending|ends|enter\w*|flipped|gone|migrated|terminat\w+|tip|turn\w*)\b[^.,;]*"
    + _LIES_IN.pattern
)
"""For a central line, which also lies in the vein through which it enters."""
_NOT_THERE = re.compile(
    rf"\b(?:not (?:(?:clearly|identified|seen|visuali[sz]ed) )?(?:(?:at|below|beyond|in|reach|within) )?"
    rf"|(?:away from|behind|past|posterior to|previously (?:at|in)) )(?:the )?(?:{LOCATION.pattern})"
)
"""A place where a device is not."""
_ENTRY = re.compile(r"(?:internal )?jugular(?: vein)?|(?:axillary|subclavian) vein")
"""A vein through which a line enters, without words for its tip."""
_CLAUSE_START = re.compile(r"[,;] |\b(?:accompan(?:ied by|ies|y|ying)|are|but|by|is|was|were|whereas|while|with) ")
"""End of what stands before the words about a name, which may be about something else."""
_CLAUSE_END = re.compile(r"[,;] |\bwith respect to\b")
_MAX_LOCATIONS = 6
"""Number of locations that are tried for a device, so that the work grows linearly with the text."""


def find_location(finding: str, own: str) -> re.Match[str] | None:
    """Return the location of a finding in its words, or for a device the first one that it can have.

    The location of a finding stands right before its name, or else after it, or else in an earlier clause.
    A PICC has no side: in "right PICC tip in the SVC", the side is that of the arm. A location that makes a device
    malpositioned counts only where it lies, or a central line ends, as in "tip in the jugular vein": not in "via the
    jugular vein", or in "in the jugular vein with tip in the SVC".

    >>> found = [find_location("picc", words) for words in ("right #### tip in the svc", "right ####")]
    >>> [match and match[0] for match in found]
    ['svc', 'right']
    """
    if not FINDINGS[finding].is_device:
        return _nearest_location(own)
    own = _NOT_THERE.sub(lambda match: "~" * len(match[0]), own)
    first = LOCATION.search(own)
    allowed = FINDINGS[finding].locations
    if not first or allowed_location(canonical_location(first[0]), allowed):
        return first
    found = [(canonical_location(match[0]), match) for match in islice(LOCATION.finditer(own), _MAX_LOCATIONS)]
    well_placed = (match for location, match in found if location in allowed)
    misplaced = _ENDS_IN if finding == "cvc" else _LIES_IN
    malpositioned = (
        match
        for location, match in found
        if stated_finding(finding, location) != finding and misplaced.search(own[: match.start()])
    )
    return next(chain(well_placed, malpositioned), None if _ENTRY.fullmatch(first[0]) else first)


def _nearest_location(own: str) -> re.Match[str] | None:
    """Return the location in the clause of a masked name, or else in an earlier clause, or else in a later one."""
    name = re.search("#+", own)
    if name is None:
        return LOCATION.search(own)
    start = max((match.end() for match in _CLAUSE_START.finditer(own, 0, name.start())), default=0)
    end = found.start() if (found := _CLAUSE_END.search(own, name.end())) else len(own)
    near = LOCATION.search(own, start, name.start()) or LOCATION.search(own, name.end(), end)
    earlier = max(LOCATION.finditer(own, 0, start), key=re.Match.end, default=None)
    return near or earlier or LOCATION.search(own, end)


def allowed_location(location: str | None, allowed: tuple[str, ...]) -> str | None:
    """Return the location, or only its side if the finding has no zones: an effusion at the left base is left.

    >>> allowed_location("left lower", ("left", "right"))
    'left'
    """
    if location in allowed:
        return location
    side = (location or "").split(" ")[0]
    return side if side in allowed else None
