"""Facts of a sentence with the details that other people's reports have and generated ones do not."""

from __future__ import annotations

import re
from itertools import starmap

from radreward.text.bone_levels import LEVELS, stated_levels
from radreward.text.changes import change_of
from radreward.text.descriptors import (
    HIGH_TUBE,
    LARGER_SIDES,
    LOW_TUBE,
    NUMBERS,
    RIGHT_HEIGHT,
    SIDES,
    ZONES,
    find_descriptors,
    is_of,
    number_of_findings,
)
from radreward.text.facts import Change, Fact
from radreward.text.finding_locations import LOCATION, allowed_location, find_location
from radreward.text.findings import BROKEN, DISPLACED, FINDINGS
from radreward.text.locations import (
    CARINA_DISTANCE,
    PLACES_WITH_SIDE,
    PLACES_WITH_ZONE,
    canonical_location,
    carina_distance,
)
from radreward.text.measurements import any_size
from radreward.text.sentence_parser import Scope, parse_written_out
from radreward.text.tip_distances import tip_distance

_HIGHEST_TIP = 60
"""Largest distance of the tip of a tracheal tube from the carina, in mm, at which it is not too high."""
_PART_OF_NAME = re.compile(r"\b(?:left|right)(?= (?:atri|brachiocephalic|innominate|main|pulmonary|ventric))")
"""A side that is part of the name of a chamber, vessel or bronchus."""
_CLEAR = re.compile(r"(?:,| and| with) (?:[^,;]* )?(?:clear|normal|unremarkable)\b.*$")
"""Another part of the chest, which is normal."""
_OPEN_LIST = re.compile(r"\b(?:at least|greatest|including|most|multiple|numerous|several|worst)\b")
"""Words beside a list that need not have all levels."""
_PLURAL = re.compile(r"\b(?:adjacent|deformities|fractures)\b")
"""Words beside a single level that is one of several."""
_CAN_BE_TOO_HIGH = (DISPLACED.keys() - BROKEN.keys()) | {"trach", "iabp", "uvc", "uac"}
"""Tubes and catheters."""
_MISPLACED_BY = {"dobhoff": {"in the airway"}, "chesttube": {"outside the pleura"}}
"""Devices, and descriptors of places where they must not be."""


def described_facts(text: str) -> tuple[Fact, ...]:
    """Return the facts of one sentence with their descriptors, see `find_descriptors`, sizes and changes.

    Of a finding without sides, the side is a descriptor. A tube that is displaced is malpositioned, and a
    tracheal one that is too low; a device with a broken part is another finding, too, see `BROKEN`.

    >>> described_facts("Broken wire on the left side of the pacemaker.")[0].descriptors
    ('broken', 'left')
    >>> described_facts("Left apical pneumothorax with a rim of 2 cm.")[0][5:]
    (20.0, ('upper zones',))
    """
    parsed = parse_written_out(text)
    described = starmap(_described, zip(parsed.facts, parsed.scopes, strict=True))
    return tuple(described) if parsed.scopes else parsed.facts


def _described(fact: Fact, scope: Scope) -> Fact:
    if not fact.is_stated:
        return fact
    is_device = FINDINGS[fact.finding].is_device
    words = _descriptors(fact, scope)
    size = fact.size or (tip_distance(fact.finding, scope.masked) if is_device else any_size(scope.masked))
    change = fact.change or _change_of_lasting(fact, scope.masked)
    if key := _defective(fact.finding, words):
        fact = fact._replace(finding=key, location=allowed_location(fact.location, FINDINGS[key].locations))
    return fact._replace(change=change, size=size, descriptors=tuple(sorted(words)))


def _descriptors(fact: Fact, scope: Scope) -> set[str]:
    finding = FINDINGS[fact.finding]
    words = {word for word in find_descriptors(scope.words) if is_of(word, fact.finding)}
    words |= {number} if (number := _number(fact, scope)) else set()
    if finding.region == "bones" and fact.location not in LEVELS:
        words |= stated_levels(scope.words)
    if PLACES_WITH_SIDE.isdisjoint(finding.locations) and words.isdisjoint(LARGER_SIDES):
        words |= _side(fact.finding, scope.masked)
    if fact.location in PLACES_WITH_ZONE:
        words -= ZONES
    if "in place" in words and fact.finding in _CAN_BE_TOO_HIGH:
        words.add(RIGHT_HEIGHT)
    if fact.finding == "ett" and (distance := CARINA_DISTANCE.search(scope.masked)):
        words -= {HIGH_TUBE, RIGHT_HEIGHT, LOW_TUBE}
        words.add(HIGH_TUBE if carina_distance(distance) > _HIGHEST_TIP else RIGHT_HEIGHT)
    return words


def _number(fact: Fact, scope: Scope) -> str | None:
    """Return the number of findings before their name, or in a list of ribs or vertebrae; None if it is open."""
    number = number_of_findings(scope.masked)
    if number or LEVELS.isdisjoint(FINDINGS[fact.finding].locations):
        return number
    listed = len(stated_levels(scope.words))
    is_open = _OPEN_LIST.search(scope.words) or (listed == 1 and _PLURAL.search(scope.words))
    return NUMBERS[listed - 1] if 0 < listed <= len(NUMBERS) and not is_open else None


def _side(finding: str, masked: str) -> frozenset[str]:
    """Return the side that the words about a finding without sides state.

    >>> _side("pacemaker", "#### with its tip in the right ventricle on the left")
    frozenset({'left'})
    """
    own = _PART_OF_NAME.sub("~", _CLEAR.sub("", masked))
    found = LOCATION.finditer(own) if FINDINGS[finding].is_device else filter(None, [find_location(finding, own)])
    places = (canonical_location(match[0]) for match in found)
    place = next((place for place in places if place in PLACES_WITH_SIDE), "")
    return SIDES.intersection(place.split())


def _defective(finding: str, words: set[str]) -> str | None:
    """Return what a device is if it is out of place or broken, or None."""
    is_low = finding == "ett" and LOW_TUBE in words
    is_misplaced = "displaced" in words or not words.isdisjoint(_MISPLACED_BY.get(finding, ()))
    if is_low or (is_misplaced and "in place" not in words):
        return DISPLACED.get(finding)
    return BROKEN.get(finding) if "broken" in words and "in place" not in words else None


def _change_of_lasting(fact: Fact, masked: str) -> Change | None:
    """Return the change of a finding that usually lasts, such as a granuloma, if it is new or worse.

    "Increased tortuosity" may be an old one.
    """
    finding = FINDINGS[fact.finding]
    change = None if finding.can_change or "increased #" in masked else change_of(masked, finding.is_device)
    return change if change in ("new", "worse") else None
