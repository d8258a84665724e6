"""Details that the findings of a sentence share: a place at its start, and a degree, change or doubt at its end."""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from radreward.text.bone_levels import LEVELS
from radreward.text.changes import CHANGE, CHANGE_OF_PHRASE
from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS
from radreward.text.lexicon import compile_phrases
from radreward.text.locations import (
    LOCATION_PREFIXES,
    LOCATION_SUFFIXES,
    LOCATION_WORDS,
    contains_location,
    mirror_side,
)
from radreward.text.severity import SEVERITY_OF_PHRASE

_PLACE_AFTER = compile_phrases([phrase.lower() for phrases in LOCATION_SUFFIXES.values() for phrase in phrases])
_SEVERITY = compile_phrases(SEVERITY_OF_PHRASE)
_PLACE_END = re.compile(r" ?,? there (?:is|are|may be)\b| ?[,:]")
_SIDE_LABEL = re.compile(r"^(?P<side>left|right)(?: (?:chest|ha?emithorax|lung|side))?:")
_ALL = re.compile(r"[,;] (?:all|both|each)\b(?P<details>[^#,;]*)$")
_ITEM = r"(?:(?!\b(?:and|are|but|has|have|is|no|or|shows?|was|were|with|without)\b)[^#,;.])*+#+"
_LIST_WITH_VERB = re.compile(
    rf"^{_ITEM}(?:, {_ITEM})*,? and {_ITEM} (?:(?:both|all) )?(?:are|were|have|remain|appear)\b(?P<details>[^#,;]*)$"
)
"""A list of findings before a verb in the plural, as in "edema and effusion have resolved"."""
_DOUBT = re.compile(r"\b(?:possible|probable|suspected|uncertain)\b")
_LIST_LINK = re.compile(r", (?:and )?| and ")
_BARE_SIDES = frozenset(phrase for side in ("left", "right", "bilateral") for phrase in LOCATION_PREFIXES[side])
_PLACE = compile_phrases(
    phrase for phrase, place in LOCATION_WORDS.items() if phrase not in _BARE_SIDES and place not in LEVELS
)
_ZONE = r"(?:upper|middle|mid|lower)"
_NOUN = r"(?:lobes?|lungs?|(?:lung )?(?:zones?|fields?))"
_ZONES = rf"{_ZONE}(?: {_NOUN})?(?:(?:, (?:and )?| and ){_ZONE}(?: {_NOUN})?)+"
_ZONES_OF_SIDE = re.compile(rf"\b(?P<side>left|right) (?P<zones>{_ZONES})\b")
_ZONES_ON_SIDE = re.compile(rf"\b(?P<zones>{_ZONES}) (?:on|of) the (?P<side>left|right)\b")
_PLACE_LINK = re.compile(
    rf"(?: {_NOUN})?(?:, (?:and )?| and (?:also )?| & | as well as )(?:(?:another|a second|the second),? )?"
    r"(?:(?:at|in|of|within) )?(?:the )?"
    r"(?:(?:anterior|apical|basal|lateral|medial|posterior|superior) "
    r"(?:aspects?|parts?|portions?|segments?)(?: of the)? )?"
)
_AFTER_PLACES = re.compile(
    rf"(?: {_NOUN})?(?: ?[.,;:)?]| ?$| (?:and|are|as|but|compatible|concerning|consistent|could|due|from|has|have|is|"
    r"likely|may|might|more|most|probably|reflect\w*|represent\w*|since|stable|suggest\w*|suspicious|that|though|unchanged|"
    r"was|were|which|with|worrisome)\b)(?! (?:\w+ ){0,2}(?:aerated|clear|expanded|free|normal|spared|unremarkable)\b)"
)
"""What stands after a list of places that is about the finding before it."""
_SIZE_OF_PLACE = re.compile(r"(?<= )(?:measuring )?(?P<size>\d{1,3}(?:\.\d{1,2})?\s?[cm]m) $")


_SAME_LOCATION = re.compile(
    r"\b(?:adjacent|accompanying|as in|because of|caused by|compatible with|compressive|concerning for|consistent with|"
    r"could be|due to|favou?r(?:ed|ing|s)|i\.e\.|indicat(?:es|ing)|ipsilateral|likely|may be|might be|or|overlying|"
    r"presumably|presumed|probabl[ey]|reflecting|represent(?:s|ing)?|same side|secondary to|suggest(?:s|ing|ive)|"
    r"superimposed|suspicious for|that side|typical (?:for|of)|underlying|versus|vs|worrisome for|worrying for)\b"
    r"|\?|^/$"
)
"""Words between two findings that are at the same place."""
_THERE = re.compile(
    r"#[^#,;.]*\b(?:(?:that|the same|this|same) (?:base|lobe|lung|place|region|side|site|zone)|there)\b"
    r"|\bipsilateral(?:ly)?\b"
)
_OPPOSITE = re.compile(r"\b(?:contralateral|(?:opposite|other) side)\b")
_PARTS = frozenset({"bronchogram", "cavity", "fluidlevel"})
"""Findings that are parts of others."""
_CONTAINS = re.compile(r"\b(?:containing|contains|has|holding|shows?|showing|with)\b")


class SharedDetails(NamedTuple):
    """Details of every finding of a sentence; None if not stated."""

    location: str | None = None
    severity: str | None = None
    change: Change | None = None
    is_uncertain: bool = False

    def complete(self, fact: Fact) -> Fact:
        """Return a fact with the shared details that it can have and does not state itself."""
        if self == _NOTHING_SHARED or not fact.positive:
            return fact
        finding = FINDINGS[fact.finding]
        change = fact.change or (self.change if finding.can_change else None)
        if change == "resolved":
            return Fact(fact.finding, "absent", change=change)
        side = (self.location or "").split(" ")[0]
        place = next((place for place in (self.location, side) if place in finding.locations), None)
        return fact._replace(
            polarity="uncertain" if self.is_uncertain else fact.polarity,
            location=fact.location or place,
            severity=fact.severity or (self.severity if finding.has_severity else None),
            change=change,
        )


_NOTHING_SHARED = SharedDetails()


def shared_details(masked: str) -> SharedDetails:
    """Return the details that all findings of a lowercase sentence share; their names are masked by #.

    >>> shared_details("on the left, there is ##### and ####.").location
    'left'
    >>> shared_details("####, ##### and ######, all unchanged since the prior study.").change
    'stable'
    >>> shared_details("#### and ##### have resolved.").change
    'resolved'
    """
    place = _PLACE_AFTER.match(masked)
    is_lead = place is not None and _PLACE_END.match(masked, place.end()) is not None
    location = LOCATION_WORDS[place[0]] if place is not None and is_lead else None
    if label := _SIDE_LABEL.match(masked):
        location = label["side"]
    if not (shared := _ALL.search(masked) or _LIST_WITH_VERB.match(masked)):
        return SharedDetails(location)
    details = shared["details"]
    where, severity, change = (pattern.search(details) for pattern in (_PLACE_AFTER, _SEVERITY, CHANGE))
    return SharedDetails(
        location or (LOCATION_WORDS[where[0]] if where else None),
        SEVERITY_OF_PHRASE[severity[0]] if severity else None,
        CHANGE_OF_PHRASE[change[0]] if change else None,
        bool(_DOUBT.search(details)),
    )


def place_readings(own: str) -> tuple[str, ...]:
    """Return the words about a finding once per place of a list, or unchanged if they list no places.

    >>> place_readings("#### in the right upper lobe, in the lingula and at the left base.")
    ('#### in the right upper lobe.', '#### in the lingula.', '#### at the left base.')
    >>> place_readings("####, 5 mm in the right upper lobe and 8 mm in the lingula.")
    ('####, measuring 5 mm in the right upper lobe.', '####, measuring 8 mm in the lingula.')
    >>> place_readings("patchy right upper and lower lobe ####.")
    ('patchy right upper lobe ####.', 'patchy right lower lobe ####.')
    >>> place_readings("#### in the right upper lobe.")
    ('#### in the right upper lobe.',)
    """
    places = list(_PLACE_AFTER.finditer(own))
    if len({LOCATION_WORDS[place[0]] for place in places}) < max(2, len(places)):
        return _short_place_readings(own)
    starts = [0, *(place.end() for place in places[:-1])]
    links = [own[start : place.start()] for start, place in zip(starts, places, strict=True)]
    sizes = [_SIZE_OF_PLACE.search(link) for link in links]
    if all(sizes):
        links = [_SIZE_OF_PLACE.sub("", link) for link in links]
    if not all(link and _LIST_LINK.fullmatch(link) for link in links[1:]):
        return _short_place_readings(own)
    after = own[places[-1].end() :]
    measures = [f"measuring {size['size']} " if size and all(sizes) else "" for size in sizes]
    return tuple(f"{links[0]}{size}{place[0]}{after}" for size, place in zip(measures, places, strict=True))


def _short_place_readings(own: str) -> tuple[str, ...]:
    """Return the readings of a list whose places share words, as in "in the right upper and left lower lobes"."""
    if " and " not in own and "," not in own and "&" not in own:
        return (own,)
    full = _ZONES_OF_SIDE.sub(_sides_of_zones, _ZONES_ON_SIDE.sub(_sides_of_zones, own))
    places = list(_PLACE.finditer(full))
    listed = places[:1]
    for place in places[1:]:
        if _PLACE_LINK.fullmatch(full[listed[-1].end() : place.start()]):
            listed.append(place)
    names = [LOCATION_WORDS[place[0]] for place in listed]
    if len(names) < 2 or any(contains_location(*pair) for pair in combinations(names, 2)):
        return (own,)
    start, end = listed[0].start(), listed[-1].end()
    if "," in full[start:end] and not re.search(r" and | & ", full[start:end]):
        return (own,)
    if "#" in full[:start] and not _AFTER_PLACES.match(full, end):
        return (own,)
    return tuple(f"{full[:start]}{place[0]}{full[end:]}" for place in listed)


def _sides_of_zones(match: re.Match[str]) -> str:
    """Return zones with their side: "right upper lobe and right lower lobe" for "right upper and lower lobes"."""
    return " and ".join(f"{match['side']} {zone} lobe" for zone in re.findall(_ZONE, match["zones"]))


def with_inherited_location(fact: Fact, earlier: Fact, between: str, own: str = "") -> Fact:
    """Return a fact at the place of an earlier one if it has none and is what that may be, or comes with it.

    Args:
        fact: The fact.
        earlier: The last fact before it in the sentence that has a location.
        between: Words between their names.
        own: Words about the fact, whose name is masked by #.

    >>> opacity, pneumonia = Fact("opacity", location="left lower"), Fact("pneumonia")
    >>> with_inherited_location(pneumonia, opacity, " that may be ").location
    'left lower'
    >>> with_inherited_location(pneumonia, opacity, " and ").location is None
    True
    >>> with_inherited_location(Fact("effusion"), opacity, " and ", "######## on the same side.").location
    'left'
    """
    if fact.location or not earlier.location or not fact.positive or not earlier.positive:
        return fact
    side = earlier.location.split(" ")[0]
    if _OPPOSITE.search(own):
        return fact._replace(location=_allowed(fact, mirror_side(side)))
    is_explanation = fact.polarity == "uncertain" and re.search(r"[,;:(]", between)
    is_part = fact.finding in _PARTS and _CONTAINS.search(between)
    if _SAME_LOCATION.search(between) or _THERE.search(own) or is_explanation or is_part:
        return fact._replace(location=_allowed(fact, earlier.location) or _allowed(fact, side))
    return fact


def _allowed(fact: Fact, location: str) -> str | None:
    return location if location in FINDINGS[fact.finding].locations else None
