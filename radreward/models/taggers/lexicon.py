"""Words of chest radiology by the part that they play in a sentence, read from lexicon.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from radreward.synthesis.vocabulary import FINDINGS

PARTS = {
    "organ": "A",
    "zone": "Z",
    "near": "Q",
    "body": "B",
    "device": "V",
    "generic": "E",
    "finding": "N",
    "disease": "D",
    "form": "F",
    "abnormal": "X",
    "normal": "G",
}
"""Sections that name things, and a letter for each. A word of form that also describes an organ gets the letter Y."""

CUES = ("denying", "denied", "open", "ending")
"""Sections of words on which the reach of a denial depends."""


class Atom(NamedTuple):
    """A phrase of the lexicon in a sentence."""

    part: str
    """Letters of `PARTS`."""
    start: int
    end: int


def forms(phrase: str) -> Iterator[str]:
    """A phrase and its plural.

    >>> list(forms("rib")), list(forms("adenopathy")), list(forms("mass"))
    (['rib', 'ribs'], ['adenopathy', 'adenopathies'], ['mass', 'masses'])
    """
    yield phrase
    if phrase.endswith("y") and phrase[-2:-1] not in tuple("aeiou"):
        yield phrase[:-1] + "ies"
    elif phrase.endswith("is"):
        yield phrase[:-2] + "es"
    else:
        yield phrase + ("es" if phrase.endswith(("s", "x", "h")) else "s")


def sections(text: str) -> dict[str, list[str]]:
    r"""Phrases of each section, lower case.

    >>> sections("# words\n[organ: names]\nheart;\nlung\n[form]\nmild")
    {'organ': ['heart', 'lung'], 'form': ['mild']}
    """
    found: dict[str, list[str]] = {}
    for block in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("]")
        phrases = (" ".join(phrase.split()).lower() for phrase in body.split(";"))
        found[head.partition(":")[0]] = [phrase for phrase in phrases if phrase]
    return found


@lru_cache(1)
def lexicon() -> Mapping[str, tuple[str, ...]]:
    """All sections of the lexicon; to the devices come those of the report grammar."""
    text = resources.files("radreward.models.taggers").joinpath("lexicon.txt").read_text(encoding="utf-8")
    found = sections(text)
    nouns = (noun for entry in FINDINGS.values() if entry.region == "devices" for noun in entry.nouns)
    devices = (noun.removeprefix("*").lower() for noun in nouns)
    known = {phrase for name in ("finding", "form", "abnormal") for phrase in found[name]}
    found["device"] += [noun for noun in devices if noun.split()[0] not in known and noun not in known]
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in found.items()}


@lru_cache(1)
def parts() -> Mapping[str, str]:
    """The letter of each phrase, in all its forms; of two parts the one that stands earlier in `PARTS` wins."""
    letters: dict[str, str] = {}
    both = set(lexicon()["form"]) & set(lexicon()["abnormal"])
    for section, letter in PARTS.items():
        for phrase in lexicon()[section]:
            inflected = forms(phrase) if letter in "AZVEND" else (phrase,)
            for form in inflected:
                letters.setdefault(form, "Y" if phrase in both else letter)
    return letters


def pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words, the longest where several begin."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-]|'\w)")


@lru_cache(1)
def _atom_pattern() -> re.Pattern[str]:
    return pattern(parts())


@lru_cache(None)
def cue(name: str) -> re.Pattern[str]:
    """The words of one of `CUES`."""
    return pattern(lexicon()[name])


def lowered(text: str) -> str:
    """The text in lower case, character by character, so that offsets stay."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def atoms(text: str) -> list[Atom]:
    """The phrases of the lexicon in a text, from left to right.

    >>> [(atom.part, atom.start, atom.end) for atom in atoms("Small left pleural effusion")]
    [('F', 0, 5), ('Z', 6, 10), ('N', 11, 27)]
    """
    return [Atom(parts()[match[0]], *match.span()) for match in _atom_pattern().finditer(lowered(text))]
