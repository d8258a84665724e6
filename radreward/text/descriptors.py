"""Words about a finding that exclude each other, such as anterior and posterior, or intact and broken."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Literal, NamedTuple, cast

from radreward.text.bone_levels import RIBS, VERTEBRAE
from radreward.text.findings import FINDINGS
from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import phrases_of, read_sections
from radreward.text.spelling import spellings

DescriptorKind = Literal["location", "state"]


class _Descriptor(NamedTuple):
    word: str
    all: frozenset[str]
    """The descriptors of its set, which exclude each other."""
    kind: DescriptorKind
    of: str = ""
    """Findings that it can describe, see `is_of`; by default, all."""
    has_denial: bool = False
    """True if its denial states the other one."""


def _read() -> Iterator[tuple[_Descriptor, tuple[str, ...]]]:
    for title, lines in _SECTIONS.items():
        kind, _, of = title.partition("; ")
        for line in lines:
            phrases = dict(entry.split(" = ") for entry in line.split(" | "))
            for word, own in phrases.items():
                is_denied = of == "denial"
                descriptor = _Descriptor(
                    word, frozenset(phrases), cast("DescriptorKind", kind), "" if is_denied else of, is_denied
                )
                yield descriptor, tuple(own.split("; "))


_SECTIONS = read_sections("descriptors.txt")
_OF_PHRASE = defaultdict[str, list[_Descriptor]](list, {phrase: [] for phrase in phrases_of(_SECTIONS.pop("none"))})
_DESCRIPTORS: dict[str, _Descriptor] = {}
for _descriptor, _phrases in _read():
    _DESCRIPTORS[_descriptor.word] = _descriptor
    for _form in chain.from_iterable(map(spellings, _phrases)):
        _OF_PHRASE[_form].append(_descriptor)
SIDES = frozenset({"left", "right", "bilateral"})
"""Descriptors of findings that have no sides."""
LARGER_SIDES = frozenset({"larger on the left", "larger on the right"})
"""Descriptors of findings on both sides, whichever of them is named."""
ZONES = frozenset({"lower zones", "upper zones"})
"""Descriptors of findings without a side, since locations have one."""
HIGH_TUBE, RIGHT_HEIGHT, LOW_TUBE = "too high", "right height", "too low"
"""Descriptors of the tip of a tube."""
_DESCRIPTORS |= {side: _Descriptor(side, SIDES, "location") for side in SIDES}
for _levels in (RIBS, VERTEBRAE):
    _names = frozenset(level.split(" ")[1] for level in _levels)
    _DESCRIPTORS |= {name: _Descriptor(name, _names, "location") for name in _names}
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DESCRIPTORS |= {number: _Descriptor(number, frozenset(NUMBERS), "state") for number in NUMBERS}
_NUMBER_OF_NAMES = re.compile(
    r"(?<!day )(?<!pod )(?<!least )(?<!about )(?<!up to )(?<!stage )(?<!grade )(?<!type )(?<!image )(?<!series )"
    r"(?<!at )(?<!since )(?<!within )"
    rf"(?<!than )(?<!to )(?<![\d./-])\b(?:(?P<number>{'|'.join(NUMBERS[1:])}|single)|(?P<digit>[2-9]))(?= "
    r"(?!(?:am|[cm]m|days?|films?|fr|french|frontal|hours?|images?|months?|pm|previous|prior|radiographs?|views?|weeks?|years?)\b)"
    r"(?:(?!(?:and|demonstrates?|from|of|reveals?|shows?|to|with)\b)[a-z-]+ ){0,3}#)"
)
"""A number before a name that is no date, grade or number of images."""
_TRACHEAL_TUBES = frozenset({"ett", "ettlow", "trach"})
_CHEST_TUBES = frozenset({"chesttube", "chesttubemal"})
_WITH_ZONES = _CHEST_TUBES | {"congestion", "dobhoff", "edema", "foreign", "ngt", "ngtmal"}
_PHRASE = compile_phrases(_OF_PHRASE)
_DENIED = re.compile(
    r"\b(?:no|none|not|nothing|without|nor|never|previously|spares?|sparing(?: of)?)"
    r"(?: (?:any|at|evidence of|in|longer|otherwise|the))* $"
)


def find_descriptors(text: str) -> tuple[str, ...]:
    """Return the distinct descriptors of a lowercase text, in alphabetical order.

    >>> find_descriptors("intact wires with a posterior mass"), find_descriptors("not displaced")
    (('intact', 'posterior'), ('in place',))
    """
    found: set[str] = set()
    for match in _PHRASE.finditer(text):
        is_denied = _DENIED.search(text[: match.start()])
        for descriptor in _OF_PHRASE[match[0]]:
            if not is_denied:
                found.add(descriptor.word)
            elif descriptor.has_denial:
                found |= descriptor.all - {descriptor.word}
    return tuple(sorted(found))


def number_of_findings(masked: str) -> str | None:
    """Return the number before the name of a finding that is masked by # in a lowercase text, or None.

    >>> number_of_findings("three displaced right ########"), number_of_findings("two views show an ########.")
    ('three', None)
    """
    found = _NUMBER_OF_NAMES.search(masked)
    if not found:
        return None
    return NUMBERS[int(found["digit"]) - 1] if found["digit"] else found["number"].replace("single", "one")


def is_of(word: str, finding: str) -> bool:
    """Return True if a descriptor can describe a finding: a tube can be too high, and a nodule cannot.

    >>> is_of("too high", "ett"), is_of("too high", "nodule")
    (True, False)
    """
    return {
        "": True,
        "devices": FINDINGS[finding].is_device,
        "no devices": not FINDINGS[finding].is_device,
        "tracheal tubes": finding in _TRACHEAL_TUBES,
        "chest tubes": finding in _CHEST_TUBES,
        "zones": FINDINGS[finding].region in ("lungs", "pleura") or finding in _WITH_ZONES,
        "no aortic calcification": finding != "aorticcalc",
    }[_DESCRIPTORS[word].of]


def exclusions(first: Collection[str], second: Collection[str]) -> frozenset[DescriptorKind]:
    """Return the kinds of descriptors by which two texts exclude each other.

    They do if both have descriptors of one set, and none in common.

    >>> exclusions(["left"], ["right"]), exclusions(["left"], ["broken"]), exclusions(["left"], ["left", "right"])
    (frozenset({'location'}), frozenset(), frozenset())
    """
    shared = set(first).intersection(second)
    sets = (_DESCRIPTORS[word] for word in first if word in _DESCRIPTORS)
    return frozenset(entry.kind for entry in sets if not entry.all.isdisjoint(second) and entry.all.isdisjoint(shared))
