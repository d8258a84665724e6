"""Words about a finding that exclude each other, such as anterior and posterior, or intact and broken."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Literal, NamedTuple, cast

from radreward.text.bone_levels import RIBS, VERTEBRAE, number_of_levels
from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import read_sections
from radreward.text.spelling import spellings

DescriptorKind = Literal["location", "state"]


class _Descriptor(NamedTuple):
    word: str
    all: frozenset[str]
    """The descriptors of its set, which exclude each other."""
    kind: DescriptorKind
    has_denial: bool
    """True if its denial states the other one."""
    is_of_tube: bool = False
    """True if it is only about the tip of a tube or catheter."""


def _read() -> Iterator[tuple[_Descriptor, tuple[str, ...]]]:
    for title, lines in read_sections("descriptors.txt").items():
        for line in lines:
            phrases = dict(entry.split(" = ") for entry in line.split(" | "))
            for word, own in phrases.items():
                kind = cast("DescriptorKind", title.split()[0])
                yield (
                    _Descriptor(word, frozenset(phrases), kind, "denial" in title, "tube" in title),
                    tuple(own.split("; ")),
                )


_DESCRIPTORS: dict[str, _Descriptor] = {}
_OF_PHRASE = defaultdict[str, list[_Descriptor]](list)
for _descriptor, _phrases in _read():
    _DESCRIPTORS[_descriptor.word] = _descriptor
    for _form in chain.from_iterable(map(spellings, _phrases)):
        _OF_PHRASE[_form].append(_descriptor)
SIDES = frozenset({"left", "right", "bilateral"})
"""Descriptors of findings that have no locations."""
ZONES = frozenset({"lower zones", "upper zones"})
"""Descriptors of findings without a side, since locations have one."""
HIGH_TUBE, RIGHT_HEIGHT = "too high", "right height"
OF_TUBES = frozenset(word for word, descriptor in _DESCRIPTORS.items() if descriptor.is_of_tube)
"""Descriptors of the tip of a tube or catheter."""
_DESCRIPTORS |= {side: _Descriptor(side, SIDES, "location", False) for side in SIDES}
for _levels in (RIBS, VERTEBRAE):
    _names = frozenset(level.split(" ")[1] for level in _levels)
    _DESCRIPTORS |= {name: _Descriptor(name, _names, "location", False) for name in _names}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DESCRIPTORS |= {number: _Descriptor(number, frozenset(_NUMBERS), "state", False) for number in _NUMBERS}
_NUMBER_OF_NAMES = re.compile(
    rf"\b(?:(?P<number>{'|'.join(_NUMBERS[1:])}|single)|(?<![\d./])(?P<digit>[2-9]))"
    r"(?= (?!(?:[cm]m|days?|hours?|pm|views?|weeks?)\b)(?:[a-z-]+ ){0,3}#)"
)
_PHRASE = compile_phrases(_OF_PHRASE)
_DENIED = re.compile(
    r"\b(?:no|none|not|nothing|without|none is|nor|never|spares?|sparing(?: of)?)"
    r"(?: (?:any|the|evidence of|longer|otherwise))* $"
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


def number_of_findings(masked: str, has_levels: bool) -> tuple[str, ...]:
    """Return the number of findings in a lowercase text in which # masks their name, or nothing if it is not stated.

    It stands before the name, or is that of the ribs or vertebrae in a list.

    Args:
        masked: Words about the finding.
        has_levels: True for a finding of ribs or vertebrae.

    >>> number_of_findings("three displaced right ########", True), number_of_findings("######## of t8 and t10", True)
    (('three',), ('two',))
    >>> number_of_findings("two views show an ########.", False)
    ()
    """
    found = _NUMBER_OF_NAMES.search(masked)
    if found and " view" not in masked[found.end() :]:
        return (_NUMBERS[int(found["digit"]) - 1] if found["digit"] else found["number"].replace("single", "one"),)
    listed = number_of_levels(masked) if has_levels else 0
    return _NUMBERS[listed - 1 : listed] if listed else ()


def exclusions(first: Collection[str], second: Collection[str]) -> frozenset[DescriptorKind]:
    """Return the kinds of descriptors by which two texts exclude each other.

    They do if both have descriptors of one set, and none in common.

    >>> exclusions(["left"], ["right"]), exclusions(["left"], ["broken"]), exclusions(["left"], ["left", "right"])
    (frozenset({'location'}), frozenset(), frozenset())
    """
    shared = set(first).intersection(second)
    sets = (_DESCRIPTORS[word] for word in first if word in _DESCRIPTORS)
    return frozenset(entry.kind for entry in sets if not entry.all.isdisjoint(second) and entry.all.isdisjoint(shared))
