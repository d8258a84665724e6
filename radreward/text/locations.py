"""Locations of findings: canonical names, words, exchange of sides, and both sides in one phrase."""

from __future__ import annotations

import re
from collections.abc import Iterator

from radreward.text import bone_levels
from radreward.text.section_files import read_sections
from radreward.text.severity import SEVERITY_OF_PHRASE

_LATERALITIES = ("left", "right", "bilateral")
LOCATIONS: dict[str, tuple[str, ...]] = {
    "-": (),
    "side": _LATERALITIES,
    "lung": tuple(f"{side} {zone}".strip() for zone in ("lower", "upper", "", "perihilar") for side in _LATERALITIES)
    + ("right middle", "left middle"),
    "lungdiffuse": ("bilateral", "bilateral lower", "bilateral upper", "right", "left"),
    "rib": (*_LATERALITIES, *bone_levels.RIBS),
    "spine": (*bone_levels.REGIONS, *bone_levels.VERTEBRAE),
    "ett": ("above carina",),
    "mainstem": ("right mainstem", "at carina"),
    "stomach": ("stomach",),
    "esophagus": ("esophagus",),
    "vein": ("svc", "cavoatrial", "right atrium", "brachiocephalic"),
    "offvein": ("jugular", "azygos vein", "axillary", "right ventricle"),
    "outside": ("outside pleura", "below diaphragm"),
}
"""Canonical locations per `Finding.location_group`. The base counts as lower lobe, the apex as upper lobe."""

PLACES_WITH_SIDE = frozenset(LOCATIONS["lung"])
PLACES_WITH_ZONE = frozenset(place for place in LOCATIONS["lung"] if " " in place)


def _read_words() -> Iterator[dict[str, tuple[str, ...]]]:
    for lines in read_sections("locations.txt").values():
        rows = (line.split(" | ") for line in lines)
        yield {location: tuple(phrases.split("; ")) for location, phrases in rows}


LOCATION_PREFIXES, LOCATION_SUFFIXES, _OTHER_PHRASES = (
    words | levels
    for words, levels in zip(
        _read_words(), (bone_levels.PREFIXES, bone_levels.SUFFIXES, bone_levels.OTHER_PHRASES), strict=True
    )
)
"""Words for each location: before the name of a finding, and after it."""
_PLACE_OF_LUNG = re.compile(r"(?:left|right) lung \w")
LOCATION_WORDS: dict[str, str] = {
    form.lower(): location
    for words in (LOCATION_PREFIXES, LOCATION_SUFFIXES, _OTHER_PHRASES)
    for location, phrases in words.items()
    for phrase in phrases
    for form in ((phrase, f"in the {phrase}") if _PLACE_OF_LUNG.match(phrase) else (phrase,))  # not "in the left lung"
}
"""The canonical location of each lowercase phrase."""
CARINA_DISTANCE = re.compile(
    r"(?<!\bwas )(?<!\bwas at )(?<!\bpreviously )(?<!\bpreviously at )(?P<below>\bless than |< ?|~)?(?<![\d.])"
    r"(?P<distance>\d{1,2}(?:\.\d{1,2})?)(?: ?(?:-|to) ?\d{1,2}(?:\.\d{1,2})?)?[\s-]?(?P<unit>[cm]m) "
    r"(?:above|from|proximal to|superior to) (?:the )?carina\b"
)
"""Distance of the tip of a tube from the carina, or the smaller one of two; distances in the past are left out. In
`without_comparisons`, ~ ends "less than"."""
_SAFE_DISTANCE = 20.0
"""Distance in mm from which the tip of an endotracheal tube is high enough."""


def carina_distance(match: re.Match[str]) -> float:
    """Return the distance of a match of `CARINA_DISTANCE` in mm.

    >>> carina_distance(CARINA_DISTANCE.search("tip 4.5 cm above the carina"))
    45.0
    """
    return float(match["distance"]) * (10 if match["unit"] == "cm" else 1)


def canonical_location(words: str) -> str:
    """Return the location that a phrase of `LOCATION_WORDS` or a distance from the carina names.

    >>> canonical_location("left lung"), canonical_location("3 cm above carina"), canonical_location("5 mm from carina")
    ('left', 'above carina', 'at carina')
    """
    if words in LOCATION_WORDS:
        return LOCATION_WORDS[words]
    match = CARINA_DISTANCE.fullmatch(words)
    if match is None:
        raise ValueError(f"Expected a location but got {words!r}.")
    millimetres = carina_distance(match)
    is_high = millimetres > _SAFE_DISTANCE or (millimetres == _SAFE_DISTANCE and not match["below"])
    return "above carina" if is_high else "at carina"


_NEIGHBORS = {
    frozenset(pair)
    for pair in (
        ("upper", "middle"),
        ("middle", "lower"),
        ("perihilar", "upper"),
        ("perihilar", "middle"),
        ("perihilar", "lower"),
        ("brachiocephalic", "svc"),
        ("svc", "cavoatrial"),
        ("cavoatrial", "right atrium"),
        ("at carina", "right mainstem"),
    )
} | bone_levels.NEIGHBORS
"""Zones of a lung, positions of the tip of a catheter or a tube, and levels of bones, that touch."""


def contains_location(first: str, second: str) -> bool:
    """Return True if two locations are equal, or one is the side of the other.

    >>> contains_location("right", "right lower"), contains_location("right upper", "right lower")
    (True, False)
    """
    return first == second or (first.split(" ")[0] == second.split(" ")[0] and (" " not in first or " " not in second))


def are_neighbors(first: str, second: str) -> bool:
    """Return True if two locations touch: adjacent zones of the same side, or adjacent tip positions.

    >>> are_neighbors("right upper", "right middle"), are_neighbors("right upper", "right lower")
    (True, False)
    """
    (side, _, zone), (other_side, _, other_zone) = first.partition(" "), second.partition(" ")
    same_side = side == other_side and frozenset((zone, other_zone)) in _NEIGHBORS
    return same_side or frozenset((first, second)) in _NEIGHBORS


_MIRRORED_SIDES = {"left": "right", "right": "left", "Left": "Right", "Right": "Left"}
_MIRRORED_LOBES = {"LLL": "RLL", "RLL": "LLL", "LUL": "RUL", "RUL": "LUL"}
_MIRRORED_LOBES |= {lobe.lower(): mirrored.lower() for lobe, mirrored in _MIRRORED_LOBES.items()}
_SIDE_WORD = re.compile(r"\b(?:" + "|".join(_MIRRORED_SIDES) + r")\b")
_SIDE_OR_LOBE_WORD = re.compile(r"\b(?:" + "|".join(_MIRRORED_SIDES | _MIRRORED_LOBES) + r")\b")


def mirror_side(text: str, lobes: bool = True) -> str:
    """Return a text with left and right exchanged.

    Args:
        text: Any text, or a canonical location.
        lobes: Exchange abbreviations of lobes such as LLL too.

    >>> mirror_side("Left effusion, RLL opacity"), mirror_side("right lower")
    ('Right effusion, LLL opacity', 'left lower')
    """
    if lobes:
        return _SIDE_OR_LOBE_WORD.sub(lambda match: (_MIRRORED_SIDES | _MIRRORED_LOBES)[match[0]], text)
    return _SIDE_WORD.sub(lambda match: _MIRRORED_SIDES[match[0]], text)


_SIDES_AT_END = re.compile(r"(?<!the )\b(?:left and right|right and left)\b(?=\s*(?:[.;]|$))")
_EXACTLY = re.compile(
    r"\b(?:(?:end|lie|sit|stop|terminate)s?|ending|is|located|lying|terminating|tip) (?P<word>right)"
    r"(?= (?:above|at|behind|below|beneath|beside|next)\b)"
)
"""A word that names no side."""


def with_clear_sides(masked: str) -> str:
    """Return a lowercase text of equal length in which a list of both sides at its end is "bilateral".

    In "ends right at the carina", right is masked by ~, too.

    >>> with_clear_sides("########, right and left."), with_clear_sides("### ends right at the carina.")
    ('########, bilateral     .', '### ends ~~~~~ at the carina.')
    """
    masked = _EXACTLY.sub(lambda match: match[0][: -len("right")] + "~" * len("right"), masked)
    return _SIDES_AT_END.sub(lambda match: "bilateral".ljust(len(match[0])), masked)


_SEVERITY = "|".join(sorted(map(re.escape, SEVERITY_OF_PHRASE), key=len, reverse=True))
_BOTH_SIDES = re.compile(
    r"\b(?P<first>left|right)(?:[- ]sided)? and "
    rf"(?P<second>(?:(?:an? )?(?:{_SEVERITY}) )?(?!(?P=first))(?:left|right))\b"
)
_CLAUSE_BOUNDARY = re.compile(r"[,;:.]\s|\s(?:and|with|but|or|which|although|however)\s")


def find_both_sides(masked: str) -> list[re.Match[str]]:
    """Return the matches in a sentence, its names masked by #, that state both sides of one finding.

    "Atelectasis on the left and right effusion" is no match: it states one side of each of two findings.

    >>> [match[0] for match in find_both_sides("small left and moderate right ####")]
    ['left and moderate right']
    >>> find_both_sides("#### on the left and right ###")
    []
    """
    return [match for match in _BOTH_SIDES.finditer(masked) if _has_one_name(masked, match)]


def side_readings(own: str) -> tuple[str, ...]:
    """Return the words about a finding once per side, or unchanged if they do not state both sides.

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
    """Return True if the clause names a finding either before or after the match, not both."""
    before, after = masked[: match.start()], masked[match.end() :]
    return ("#" in _CLAUSE_BOUNDARY.split(before)[-1]) != ("#" in _CLAUSE_BOUNDARY.split(after)[0])
