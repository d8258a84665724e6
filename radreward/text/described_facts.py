"""Facts of a sentence with the details that other people's reports have and generated ones do not."""

from __future__ import annotations

import re
from itertools import starmap

from radreward.text.bone_levels import LEVELS, stated_levels
from radreward.text.changes import change_of
from radreward.text.descriptors import (
    HIGH_TUBE,
    OF_TUBES,
    RIGHT_HEIGHT,
    SIDES,
    ZONES,
    find_descriptors,
    number_of_findings,
)
from radreward.text.facts import Change, Fact
from radreward.text.finding_locations import LOCATION, allowed_location
from radreward.text.findings import BROKEN, DISPLACED, FINDINGS
from radreward.text.locations import (
    CARINA_DISTANCE,
    PLACES_WITH_SIDE,
    PLACES_WITH_ZONE,
    canonical_location,
    carina_distance,
)
from radreward.text.measurements import any_size, tip_distance
from radreward.text.sentence_parser import Scope, parse_written_out

_HIGHEST_TIP = 60
"""Largest distance of the tip of a tracheal tube from the carina, in mm, at which it is not too high."""
_TOO_LOW = re.compile(r"\btoo (?:deep|far|low)\b|\b(?:must|needs to|should) be (?:pulled|retracted|withdrawn)\b")
_CHAMBER = re.compile(r"\b(?:left|right)(?= (?:atri|ventric))")
"""A side that is part of the name of a chamber of the heart."""
_MISPLACED_BY = {"dobhoff": "in the airway", "chesttube": "outside the pleura"}
"""Devices, and the descriptor of a place where they must not be."""


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
    size = fact.size or (tip_distance if is_device else any_size)(scope.masked)
    change = fact.change or _change_of_lasting(fact, scope.masked)
    key = None if "in place" in words else _defective(fact.finding, scope, words)
    if key:
        fact = fact._replace(finding=key, location=allowed_location(fact.location, FINDINGS[key].locations))
    return fact._replace(change=change, size=size, descriptors=tuple(sorted(words)))


def _descriptors(fact: Fact, scope: Scope) -> set[str]:
    finding = FINDINGS[fact.finding]
    has_levels = not LEVELS.isdisjoint(finding.locations)
    words = {*find_descriptors(scope.words), *number_of_findings(scope.masked, has_levels)}
    words |= stated_levels(scope.words, has_levels)
    if PLACES_WITH_SIDE.isdisjoint(finding.locations):
        words |= _side(scope.masked)
    if fact.location in PLACES_WITH_ZONE:
        words -= ZONES
    if not finding.is_device:
        words -= OF_TUBES
    elif "in place" in words:
        words.add(RIGHT_HEIGHT)
    if fact.finding == "ett" and (distance := CARINA_DISTANCE.search(scope.masked)):
        words.add(HIGH_TUBE if carina_distance(distance) > _HIGHEST_TIP else RIGHT_HEIGHT)
    return words


def _side(masked: str) -> frozenset[str]:
    """Return the side of the first place in the words about a finding.

    >>> _side("#### with its tip in the right ventricle on the left")
    frozenset({'left'})
    """
    found = LOCATION.search(_CHAMBER.sub(lambda match: "~" * len(match[0]), masked))
    place = canonical_location(found[0]) if found else None
    return SIDES.intersection(place.split()) if place in PLACES_WITH_SIDE else frozenset()


def _defective(finding: str, scope: Scope, words: set[str]) -> str | None:
    """Return what a device is if it is out of place or broken, or None."""
    is_misplaced = "displaced" in words or _MISPLACED_BY.get(finding) in words
    if is_misplaced or (finding == "ett" and _TOO_LOW.search(scope.words)):
        return DISPLACED.get(finding)
    return BROKEN.get(finding) if "broken" in words else None


def _change_of_lasting(fact: Fact, masked: str) -> Change | None:
    """Return the change of a finding that usually lasts, such as a granuloma, if it is new or worse.

    "Increased tortuosity" may be an old one.
    """
    finding = FINDINGS[fact.finding]
    change = None if finding.can_change or "increased #" in masked else change_of(masked, finding.is_device)
    return change if change in ("new", "worse") else None
