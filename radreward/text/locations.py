"""Locations of findings: canonical names, their words, and the mirror image of a side."""

from __future__ import annotations

import re

_LATERALITIES = ("left", "right", "bilateral")
LOCATIONS: dict[str, tuple[str, ...]] = {
    "-": (),
    "side": _LATERALITIES,
    "lung": tuple(f"{side} {zone}".strip() for zone in ("lower", "upper", "", "perihilar") for side in _LATERALITIES)
    + ("right middle", "left middle"),
    "lungdiffuse": ("bilateral", "bilateral lower", "bilateral upper", "right", "left"),
    "ett": ("above carina",),
    "mainstem": ("right mainstem", "at carina"),
    "stomach": ("stomach",),
    "esophagus": ("esophagus",),
    "vein": ("svc", "cavoatrial", "right atrium", "brachiocephalic"),
}
"""Canonical locations per `Finding.location_group`; base and lower lobe are one location, apex and upper lobe too."""

LOCATION_PREFIXES: dict[str, tuple[str, ...]] = {
    "left": ("left", "left-sided", "left sided"),
    "right": ("right", "right-sided", "right sided"),
    "bilateral": ("bilateral",),
    "left lower": (
        "left basilar",
        "left lower lobe",
        "left base",
        "left lower lung",
        "left basal",
        "LLL",
        "retrocardiac",
    ),
    "right lower": ("right basilar", "right lower lobe", "right base", "right lower lung", "right basal", "RLL"),
    "bilateral lower": ("bibasilar", "bilateral basilar", "bilateral lower lobe", "bibasal", "bilateral lower lung"),
    "left upper": ("left upper lobe", "left apical", "left upper lung", "LUL"),
    "right upper": ("right upper lobe", "right apical", "right upper lung", "RUL"),
    "bilateral upper": ("biapical", "bilateral upper lobe", "bilateral upper lung", "bilateral apical"),
    "left perihilar": ("left perihilar", "left suprahilar", "left infrahilar"),
    "right perihilar": ("right perihilar", "right suprahilar", "right infrahilar"),
    "bilateral perihilar": ("bilateral perihilar", "perihilar", "bilateral central"),
    "right middle": ("right middle lobe", "RML", "right midlung", "right mid lung"),
    "left middle": ("lingular", "left midlung", "left mid lung", "left mid-lung"),
}
"""Words for a location that stand before the name of a finding."""

LOCATION_SUFFIXES: dict[str, tuple[str, ...]] = {
    "left": ("on the left", "on the left side", "in the left hemithorax"),
    "right": ("on the right", "on the right side", "in the right hemithorax"),
    "bilateral": ("bilaterally", "on both sides", "in both hemithoraces"),
    "left lower": (
        "at the left base",
        "in the left lower lobe",
        "at the left lung base",
        "in the left lower lung zone",
    ),
    "right lower": (
        "at the right base",
        "in the right lower lobe",
        "at the right lung base",
        "in the right lower lung zone",
    ),
    "bilateral lower": ("at the lung bases", "at both lung bases", "at the bases", "in both lower lobes"),
    "left upper": ("in the left upper lobe", "at the left apex", "in the left upper lung zone"),
    "right upper": ("in the right upper lobe", "at the right apex", "in the right upper lung zone"),
    "bilateral upper": ("in both upper lobes", "at both apices", "in the upper lung zones"),
    "left perihilar": ("in the left perihilar region", "adjacent to the left hilum"),
    "right perihilar": ("in the right perihilar region", "adjacent to the right hilum"),
    "bilateral perihilar": ("in the perihilar regions", "in a perihilar distribution"),
    "right middle": ("in the right middle lobe", "in the right mid lung zone"),
    "left middle": ("in the lingula", "in the left mid lung zone"),
    "above carina": (
        "terminating above the carina",
        "with tip 4 cm above the carina",
        "in standard position above the carina",
        "with its tip approximately 3.5 cm from the carina",
        "with tip 3 cm above the carina",
        "with tip 4.5 cm above the carina",
        "with tip 5 cm above the carina",
        "ending 6 cm above the carina",
    ),
    "at carina": (
        "with tip at the carina",
        "with tip 1 cm above the carina",
        "with tip 5 mm above the carina",
        "with its tip approximately 1.5 cm from the carina",
        "terminating at the level of the carina",
        "ending just above the carina",
    ),
    "right mainstem": (
        "in the right mainstem bronchus",
        "with tip in the right main bronchus",
        "entering the right mainstem bronchus",
    ),
    "stomach": (
        "in the stomach",
        "coursing below the diaphragm",
        "with tip in the stomach",
        "extending into the stomach",
        "with side port below the gastroesophageal junction",
    ),
    "esophagus": ("in the distal esophagus", "with tip in the esophagus", "coiled in the esophagus"),
    "svc": (
        "with tip in the SVC",
        "terminating in the mid SVC",
        "in the superior vena cava",
        "ending in the lower SVC",
        "with tip projecting over the SVC",
    ),
    "cavoatrial": ("at the cavoatrial junction", "with tip near the cavoatrial junction"),
    "right atrium": ("in the right atrium", "with tip in the right atrium", "terminating in the upper right atrium"),
    "brachiocephalic": ("in the brachiocephalic vein", "with tip in the left brachiocephalic vein"),
}
"""Words for a location that stand after the name of a finding."""

_EXTRA_LOCATIONS = {
    "diffuse bilateral": "bilateral",
    "left mid": "left middle",
    "right mid": "right middle",
    "left upper": "left upper",
    "right upper": "right upper",
    "bilateral upper": "bilateral upper",
    "left lower": "left lower",
    "right lower": "right lower",
    "bilateral lower": "bilateral lower",
    "basilar": "bilateral lower",
    "left lung": "left",
    "right lung": "right",
    "left hemithorax": "left",
    "right hemithorax": "right",
    "both lungs": "bilateral",
    "lower lobes": "bilateral lower",
    "lung bases": "bilateral lower",
    "upper lobes": "bilateral upper",
    "lingula": "left middle",
    "left lung base": "left lower",
    "right lung base": "right lower",
    "left hilum": "left perihilar",
    "right hilum": "right perihilar",
    "apical": "bilateral upper",
    "both apices": "bilateral upper",
    "left apex": "left upper",
    "right apex": "right upper",
    "left upper lung zone": "left upper",
    "right upper lung zone": "right upper",
}
LOCATION_WORDS: dict[str, str] = {
    phrase.lower(): location
    for words in (LOCATION_PREFIXES, LOCATION_SUFFIXES)
    for location, phrases in words.items()
    for phrase in phrases
} | _EXTRA_LOCATIONS
"""The canonical location of each lowercase phrase."""

_NEIGHBORS = {
    frozenset(pair)
    for pair in (
        *(("upper", "middle"), ("middle", "lower")),
        *(("perihilar", zone) for zone in ("upper", "middle", "lower")),
        *(("brachiocephalic", "svc"), ("svc", "cavoatrial"), ("cavoatrial", "right atrium")),
        ("at carina", "right mainstem"),
    )
}
"""Zones of a lung, and positions of the tip of a catheter or a tube, that touch."""


def contains_location(first: str, second: str) -> bool:
    """Return True if both locations can be correct: they are equal, or either is the side of the other.

    >>> contains_location("right", "right lower"), contains_location("right upper", "right lower")
    (True, False)
    """
    return first == second or (first.split(" ")[0] == second.split(" ")[0] and (" " not in first or " " not in second))


def are_neighbors(first: str, second: str) -> bool:
    """Return True if two locations touch: neighboring zones of the same side, or neighboring tip positions.

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
