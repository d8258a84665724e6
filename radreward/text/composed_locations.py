"""Locations whose side and zone stand apart, as in "in the upper part of the lung on the left"."""

from __future__ import annotations

import re

from radreward.text.findings import FINDINGS

_NOUN = (
    r"(?:areas?|aspects?|chest|fields?|ha?emithora(?:ces|x)|hal(?:f|ves)|lobes?|lungs?|parts?|portions?|regions?|segments?|"
    r"thirds?|zones?)\b"
)
_THE = r"(?:\w+ ){0,2}"
_WORDS_OF_ZONE = {
    "upper": (
        rf"(?:apical|top|upper(?:most)?) {_THE}{_NOUN}",
        rf"superior (?!segments?\b)(?:\w+ )?{_NOUN}",
        r"(?:ap(?:ex|ices)|summits?|tops?)\b",
        r"(?:apical(?:ly)?|apico\w+|pancoast|superior sulcus|(?:infra|retro|sub|supra)clavicular)\b",
        r"upper (?:left|right)\b",
        rf"(?:above|below|beneath|under) {_THE}(?:clavicles?|collarbones?)\b",
    ),
    "middle": (
        rf"mid(?:dle)?[- ]{_THE}(?!lobe){_NOUN}",  # the left lung has no middle lobe
        r"middle of\b",
        r"(?:cardiac|heart) (?:border|margin)\b",
    ),
    "lower": (
        rf"(?:basal|basilar|inferior|lower(?:most)?|lowest) {_THE}{_NOUN}",
        r"bases?\b(?! of the (?!chest|ha?emithorax|left|lung|right))",
        r"(?:basal(?:ly)?|basilar|bottoms?|cardiophrenic|costophrenic|behind the heart)\b",
        r"lower (?:left|right)\b",
        r"(?:eras|hid|obscur|silhouett)\w* (?:\w+ ){0,3}(?:hemi)?diaphragms?\b",
        rf"(?:above|over) {_THE}(?:hemi)?diaphragms?\b",
    ),
    "perihilar": (rf"central (?:\w+ )?{_NOUN}", r"(?:hil(?:ar|um|a)|(?:infra|para|peri|supra)hilar|roots?)\b"),
}
_ZONES = {zone: re.compile(rf"\b(?:{'|'.join(words)})") for zone, words in _WORDS_OF_ZONE.items()}
"""Pattern of the words for each zone of a lung."""
_BOTH_SIDES = re.compile(r"\b(?:both|bi(?:apical|basal|basally|basilar|hilar|lateral|laterally)|each|either|two)\b")
_WORSE_SIDE = re.compile(
    r"(?:\b(?:especially|greater|more|particularly|predominant(?:ly)?|worse)\b|~{4,})[^#,;.]{0,60}\b(?:left|right)\b"
)
_BEHIND_HEART = re.compile(r"\b(?:behind the heart|retrocardiac)\b")
"""A place that is on the left unless another side is stated."""
_SIDES = re.compile(r"\b(?:left|right)\b")
_OTHER_CLAUSE = re.compile(
    r"[;.] |(?:,| and| but| though| whereas| while) (?=[^,;.]{0,80}\b(?:are|clear|free|intact|is|no|normal|not|"
    r"unremarkable|was|were)\b)| (?:but|except|spar(?:es|ing)|with sparing)\b"
)
"""Start of a clause that is not about the finding before it. It is read up to 80 characters, so that work is linear."""


def with_zone(finding: str, location: str | None, own: str) -> str | None:
    """Return the location of a finding, with the zone of the lung that its words name apart from the side.

    Args:
        finding: Key of the finding.
        location: Location that a phrase names; None if there is none.
        own: Lowercase words about the finding, whose name is masked by #.

    >>> with_zone("nodule", "left", "###### in the upper part of the lung on the left")
    'left upper'
    >>> with_zone("nodule", "left", "###### on the left, and the right base is clear")
    'left'
    >>> with_zone("opacity", "right", "####### at each base, worse on the right")
    'bilateral lower'
    """
    words = words_about(own, _OTHER_CLAUSE)
    side = _stated_side(location, words)
    if side is None or (location and " " in location and side in location):
        return location
    zones = [zone for zone, pattern in _ZONES.items() if pattern.search(words)]
    refined = f"{side} {zones[0]}" if len(zones) == 1 else location and side
    return refined if refined in FINDINGS[finding].locations else location


def words_about(own: str, other_clause: re.Pattern[str]) -> str:
    """Return the words up to the start of another clause after the name of the finding, which is masked by #."""
    name = re.search("#+", own)
    end = other_clause.search(own, name.end()) if name else None
    return own[: end.start()] if end else own


def _stated_side(location: str | None, words: str) -> str | None:
    """Return the side of a finding, or None if the words name several, or none."""
    sides: set[str] = set(_SIDES.findall(words))
    if _BOTH_SIDES.search(words):
        return "bilateral" if location is None or _WORSE_SIDE.search(words) else location.split()[0]
    if location is None:
        return None
    if location.startswith("bilateral ") and len(sides) == 1:  # "apical scar on the right"
        return sides.pop()
    side = location.split()[0]
    if len(sides) == 1 and _BEHIND_HEART.search(words):
        return sides.pop()
    return side if sides <= {side} or side == "bilateral" else None
