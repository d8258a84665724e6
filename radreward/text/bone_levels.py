"""Levels of ribs and vertebrae as locations: "left rib5", "thoracic T8", and the words for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    "twelfth",
)
_SHORT_ORDINALS = ("1st", "2nd", "3rd", *(f"{number}th" for number in range(4, 13)))
_SPINE = {"cervical": 7, "thoracic": 12, "lumbar": 5}
REGIONS = tuple(_SPINE)
"""Parts of the spine, which contain the vertebrae of the same name."""
RIBS: dict[str, tuple[str, int]] = {
    f"{side} rib{number}": (side, number) for side in ("left", "right") for number in range(1, 13)
}
VERTEBRAE: dict[str, tuple[str, int]] = {
    f"{region} {region[0].upper()}{number}": (region, number)
    for region, count in _SPINE.items()
    for number in range(1, count + 1)
}
LEVELS = frozenset((*RIBS, *VERTEBRAE))
NEIGHBORS = {
    *(frozenset(pair) for side in ("left", "right") for pair in pairwise(f"{side} rib{n}" for n in range(1, 13))),
    *(frozenset(pair) for pair in pairwise(VERTEBRAE)),
}
"""Adjacent levels."""


def _written_at_rib(side: str, number: int) -> tuple[str, ...]:
    ordinal, short = _ORDINALS[number - 1], _SHORT_ORDINALS[number - 1]
    names = (f"{side} {ordinal} rib", f"{side} {short} rib", f"{ordinal} {side} rib", f"{ordinal} rib on the {side}")
    return (*(f"of the {name}" for name in names), f"involving the {names[0]}")


def _read_at_rib(side: str, number: int) -> tuple[str, ...]:
    orders = (_ORDINALS[number - 1], _SHORT_ORDINALS[number - 1])
    # Without "rib" in "left fifth rib fracture", where the name of the finding contains it.
    forms = ("{0} {1} rib", "{1} {0} rib", "{1} rib on the {0}", "{0} {1}", "{0}-sided {1}", "{1} {0}", "{1} {0}-sided")
    return (f"{side} rib {number}", *(form.format(side, order) for form in forms for order in orders))


def _written_at_vertebra(region: str, number: int) -> tuple[str, ...]:
    level = f"{region[0].upper()}{number}"
    forms = ("of {0}", "at {0}", "of the {0} vertebral body", "of the {0} vertebra", "at the {0} level")
    return (*(form.format(level) for form in forms), f"of the {_ORDINALS[number - 1]} {region} vertebra")


def _read_at_vertebra(region: str, number: int) -> tuple[str, ...]:
    letter, ordinal = region[0].upper(), _ORDINALS[number - 1]
    names = (region, "dorsal") if region == "thoracic" else (region,)
    return (f"{letter}{number}", f"{letter}-{number}", *(f"{ordinal} {name} vertebra" for name in names))


_Words: TypeAlias = dict[str, tuple[str, ...]]
PREFIXES: _Words = {place: (place.split(" ")[-1],) for place in (*REGIONS, *VERTEBRAE)}
"""Words before the name of a finding."""
SUFFIXES: _Words = {region: (f"of the {region} spine", f"in the {region} spine") for region in REGIONS}
"""Words after the name of a finding."""
SUFFIXES |= {place: _written_at_rib(*rib) for place, rib in RIBS.items()}
SUFFIXES |= {place: _written_at_vertebra(*vertebra) for place, vertebra in VERTEBRAE.items()}
OTHER_PHRASES: _Words = {
    region: (f"{region} spine", f"{region} vertebra", f"{region} vertebral body") for region in REGIONS
}
"""Words that are read, but not written."""
OTHER_PHRASES |= {place: _read_at_rib(*rib) for place, rib in RIBS.items()}
OTHER_PHRASES |= {place: _read_at_vertebra(*vertebra) for place, vertebra in VERTEBRAE.items()}
_ORDINAL = rf"(?:{'|'.join(_ORDINALS)}|\d{{1,2}}(?:st|nd|rd|th))"
_AND = r"(?:,? and |,? to |,? through |, ?| ?[-&/] ?)(?:the )?"
_ASPECT = r"(?:(?:antero|postero)?lateral|anterior|bilateral|left|medial|posterior|right)(?:-sided)? "
_RIBS = re.compile(
    rf"\b(?P<before>(?:(?:{_ORDINAL}|\d{{1,2}}){_AND})*{_ORDINAL})(?= (?:{_ASPECT}){{0,3}}(?:ribs?\b|#))"
    rf"|\bribs? (?P<after>\d{{1,2}}(?:{_AND}\d{{1,2}})*)\b(?! ?(?:[cm]m|days?|hours?|months?|weeks?|years?)\b)"
)
"""Ribs in a list, before or after the word, which a mask of the name can replace."""
_RIB = re.compile(rf"(?P<to>(?:\bto |\bthrough |-) ?(?:the )?)?(?P<level>{_ORDINAL}|\d{{1,2}})")
_SHORT_RANGE = re.compile(r"\b([ctl])(\d{1,2}) ?(-|/|to|and|through) ?(?=\d{1,2}\b(?! ?[cm]m\b))")
_VERTEBRA = re.compile(r"(?P<to>(?:\bto |\bthrough |- ?)(?:the )?)?\b(?P<level>[ctl]-?\d{1,2})\b(?!-weighted)")
_ORDINAL_VERTEBRA = re.compile(rf"\b({_ORDINAL}) (c|d|l|t)(?:ervical|orsal|umbar|horacic) vertebra\b")
_ANOTHER = re.compile(r"\b(?:a|another) second\b")
"""An ordinal that is no rib."""
_NEIGHBOR = re.compile(r"\b(?:adjacent to|compared (?:to|with)|relative to|with normal)\b.*")
"""Levels that are named beside those of the finding."""


_ORDER = tuple(dict.fromkeys(place.split(" ")[1] for place in (*RIBS, *VERTEBRAE)))
"""Ribs and vertebrae from the head downwards."""


def _short_name(match: re.Match[str]) -> str:
    """Return "t8" for "eighth dorsal vertebra"."""
    return match[2].replace("d", "t") + _level(match[1]).removeprefix("rib")


def _listed(matches: Iterable[re.Match[str]]) -> set[str]:
    levels: list[str] = []
    for match in matches:
        level = _level(match["level"])
        if level in _ORDER:
            first = _ORDER.index(levels[-1]) if match["to"] and levels else _ORDER.index(level)
            levels += _ORDER[first : _ORDER.index(level) + 1]
    return set(levels)


def _level(word: str) -> str:
    if word[0] in "ctl" and word[-1].isdigit():
        return word.upper().replace("-", "")
    return f"rib{_ORDINALS.index(word) + 1 if word in _ORDINALS else word.rstrip('stndrh')}"


def stated_levels(words: str) -> set[str]:
    """Return the ribs and vertebrae that lowercase words about a finding list.

    >>> sorted(stated_levels("fourth through sixth rib fractures")), stated_levels("rib fractures")
    (['rib4', 'rib5', 'rib6'], set())
    >>> sorted(stated_levels("lesions of t8-10")), stated_levels("lytic lesion of the fourth left rib")
    (['T10', 'T8', 'T9'], {'rib4'})
    >>> stated_levels("posterior third of the left 7th rib, first seen in the fourth week")
    {'rib7'}
    """
    words = _ORDINAL_VERTEBRA.sub(_short_name, _NEIGHBOR.sub("", words))
    levels = _listed(_VERTEBRA.finditer(_SHORT_RANGE.sub(r"\1\2 \3 \1", words)))
    for ribs in _RIBS.finditer(words):
        levels |= _listed(_RIB.finditer(ribs["before"] or ribs["after"]))
    return levels


def with_rib_level(location: str | None, masked: str) -> str | None:
    """Return the location of a rib fracture, with the level that stands before its masked name.

    >>> with_rib_level("right", "first ############ on the right"), with_rib_level("right", "displaced ############")
    ('right rib1', 'right')
    """
    levels = stated_levels(masked)
    place = f"{location} {next(iter(levels))}" if len(levels) == 1 else ""
    return place if place in RIBS and not _ANOTHER.search(masked) else location


def without_list_of_levels(location: str, words: str) -> str:
    """Return a location, or only its side or region if the lowercase words state several levels.

    >>> without_list_of_levels("left rib4", "left fourth and fifth rib fractures")
    'left'
    >>> without_list_of_levels("thoracic T8", "compression fracture of t8")
    'thoracic T8'
    """
    if location not in LEVELS or len(stated_levels(words)) <= 1:
        return location
    return location.split(" ")[0]
