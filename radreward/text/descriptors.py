"""Words about a finding that exclude each other, such as anterior and posterior, or intact and broken."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, cast

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


def _read() -> Iterator[tuple[_Descriptor, tuple[str, ...]]]:
    for title, lines in read_sections("descriptors.txt").items():
        for line in lines:
            phrases = dict(entry.split(" = ") for entry in line.split(" | "))
            for word, own in phrases.items():
                kind = cast("DescriptorKind", title.split()[0])
                yield _Descriptor(word, frozenset(phrases), kind, "denial" in title), tuple(own.split("; "))


_DESCRIPTORS: dict[str, _Descriptor] = {}
_WORD_OF_PHRASE: dict[str, str] = {}
for _descriptor, _phrases in _read():
    _DESCRIPTORS[_descriptor.word] = _descriptor
    _WORD_OF_PHRASE |= {form: _descriptor.word for phrase in _phrases for form in spellings(phrase)}
SIDES = frozenset({"left", "right"})
"""Descriptors of findings that have no locations."""
ZONES = frozenset({"lower zones", "upper zones"})
"""Descriptors of findings without a side, since locations have one."""
HIGH_TUBE, RIGHT_HEIGHT = "too high", "right height"
"""Descriptors of the tip of a tube."""
_DESCRIPTORS |= {side: _Descriptor(side, SIDES, "location", False) for side in SIDES}
_NUMBERS = frozenset({"two", "three", "four", "five", "six"})
_DESCRIPTORS |= {number: _Descriptor(number, _NUMBERS, "state", False) for number in _NUMBERS}
_NUMBER_OF_NAMES = re.compile(rf"\b(?P<number>{'|'.join(sorted(_NUMBERS))})(?= (?:[a-z-]+ ){{0,3}}#)")
_PHRASE = compile_phrases(_WORD_OF_PHRASE)
_DENIED = re.compile(r"\b(?:no|none|not|nothing|without|none is|nor|never)(?: (?:any|evidence of|longer|otherwise))* $")


def find_descriptors(text: str) -> tuple[str, ...]:
    """Return the distinct descriptors of a lowercase text, in alphabetical order.

    >>> find_descriptors("intact wires with a posterior mass"), find_descriptors("not displaced")
    (('intact', 'posterior'), ('in place',))
    """
    found: set[str] = set()
    for match in _PHRASE.finditer(text):
        descriptor = _DESCRIPTORS[_WORD_OF_PHRASE[match[0]]]
        if not _DENIED.search(text[: match.start()]):
            found.add(descriptor.word)
        elif descriptor.has_denial:
            found |= descriptor.all - {descriptor.word}
    return tuple(sorted(found))


def number_of_findings(masked: str) -> tuple[str, ...]:
    """Return the number before the name of a finding that is masked by # in a lowercase text, if it is from two to six.

    >>> number_of_findings("three displaced right ########"), number_of_findings("two views show an ########.")
    (('three',), ())
    """
    found = _NUMBER_OF_NAMES.search(masked)
    return (found["number"],) if found and " view" not in masked[found.end() :] else ()


def exclusions(first: Collection[str], second: Collection[str]) -> frozenset[DescriptorKind]:
    """Return the kinds of descriptors by which two texts exclude each other.

    They do if both have descriptors of one set, and none in common.

    >>> exclusions(["left"], ["right"]), exclusions(["left"], ["broken"]), exclusions(["left"], ["left", "right"])
    (frozenset({'location'}), frozenset(), frozenset())
    """
    shared = set(first).intersection(second)
    sets = (_DESCRIPTORS[word] for word in first if word in _DESCRIPTORS)
    return frozenset(entry.kind for entry in sets if not entry.all.isdisjoint(second) and entry.all.isdisjoint(shared))
