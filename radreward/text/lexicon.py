"""Words of chest radiology by the part that they play in a sentence, read from lexicon.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, cast

from radreward.text.findings import FINDINGS

CATEGORY_CODES = {
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

CUE_SECTIONS = ("denying", "denied", "open", "ending")
"""Sections of words on which the reach of a denial depends."""


PhraseKind = Literal["name", "generic", "place", "device", "off", "well"]
_PHRASES: tuple[tuple[PhraseKind, str], ...] = (
    ("name", "[FY]*[QZBA]*[FY]*[BA]*[ND]"),  # small left pleural effusion
    ("generic", "[FY]*[QZBA]*[FY]*[BA]*E"),  # acute cardiopulmonary process
    ("device", "[FQZBA]*V"),  # right internal jugular catheter
    ("place", "[QZB]*A|[QZB]*[ZB][QZB]*"),  # left upper lobe; a body part ends it
    ("off", "F*[XY]"),  # mildly enlarged
    ("well", "G"),  # normal
)
"""Phrases by the letters of `PARTS`. A finding takes the words of degree, form and place before it."""
_PHRASE = re.compile("|".join(f"(?P<{kind}>{letters})" for kind, letters in _PHRASES))
_NAME = re.compile(_PHRASES[0][1])
_GAP = re.compile(r"[\s/-]*")


class LexiconMatch(NamedTuple):
    """A phrase of the lexicon in a sentence."""

    category: str
    """Letters of `PARTS`."""
    start: int
    end: int


class LexicalPhrase(NamedTuple):
    """A phrase that names a finding, a place, a device or a state."""

    kind: PhraseKind
    start: int
    end: int
    head: str
    """Its last word of the lexicon, lower case."""
    is_disease: bool
    """Whether it names a disease."""
    is_standalone: bool
    """Whether it has no other words than its head."""


def inflections(phrase: str) -> Iterator[str]:
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


def parse_sections(text: str) -> dict[str, list[str]]:
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
def load_lexicon() -> Mapping[str, tuple[str, ...]]:
    """All sections of the lexicon; to the devices come those of the report grammar."""
    text = resources.files("radreward.text").joinpath("lexicon.txt").read_text(encoding="utf-8")
    found = parse_sections(text)
    nouns = (noun for entry in FINDINGS.values() if entry.region == "devices" for noun in entry.names)
    devices = (noun.removeprefix("*").lower() for noun in nouns)
    known = {phrase for name in ("finding", "form", "abnormal") for phrase in found[name]}
    found["device"] += [noun for noun in devices if noun.split()[0] not in known and noun not in known]
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in found.items()}


@lru_cache(1)
def phrase_categories() -> Mapping[str, str]:
    """The letter of each phrase, in all its forms; of two parts the one that stands earlier in `PARTS` wins."""
    letters: dict[str, str] = {}
    both = set(load_lexicon()["form"]) & set(load_lexicon()["abnormal"])
    for section, letter in CATEGORY_CODES.items():
        for phrase in load_lexicon()[section]:
            inflected = inflections(phrase) if letter in "AZVEND" else (phrase,)
            for form in inflected:
                letters.setdefault(form, "Y" if phrase in both else letter)
    return letters


def compile_phrases(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words, the longest where several begin."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-]|'\w)")


@lru_cache(1)
def _lexicon_pattern() -> re.Pattern[str]:
    return compile_phrases(phrase_categories())


@lru_cache(None)
def cue_pattern(name: str) -> re.Pattern[str]:
    """The words of one of `CUES`."""
    return compile_phrases(load_lexicon()[name])


def lowercase_same_length(text: str) -> str:
    """The text in lower case, character by character, so that offsets stay."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def match_lexicon(text: str) -> list[LexiconMatch]:
    """The phrases of the lexicon in a text, from left to right.

    >>> [(atom.part, atom.start, atom.end) for atom in atoms("Small left pleural effusion")]
    [('F', 0, 5), ('Z', 6, 10), ('N', 11, 27)]
    """
    return [
        LexiconMatch(phrase_categories()[match[0]], *match.span())
        for match in _lexicon_pattern().finditer(lowercase_same_length(text))
    ]


def find_phrases(text: str) -> list[LexicalPhrase]:
    """The phrases of a sentence, from left to right; their atoms have but white space, hyphens and slashes between.

    >>> [(phrase.kind, phrase.head) for phrase in phrases("Small left effusion, heart mildly enlarged.")]
    [('name', 'effusion'), ('place', 'heart'), ('off', 'enlarged')]
    """
    return [phrase for run in _adjacent_matches(text) for phrase in _phrases_of_run(text, run)]


def _adjacent_matches(text: str) -> list[list[LexiconMatch]]:
    runs: list[list[LexiconMatch]] = []
    for atom in match_lexicon(text):
        if runs and _GAP.fullmatch(text, runs[-1][-1].end, atom.start):
            runs[-1].append(atom)
        else:
            runs.append([atom])
    return runs


def _phrases_of_run(text: str, run: list[LexiconMatch]) -> Iterator[LexicalPhrase]:
    letters = "".join(atom.category for atom in run)
    for match in _PHRASE.finditer(letters):
        if match.lastgroup == "off" and _NAME.match(letters, match.end()):
            continue  # "increased effusion": of a finding, not of a body part
        first, last = run[match.start()], run[match.end() - 1]
        head = lowercase_same_length(text[last.start : last.end])
        kind = cast("PhraseKind", match.lastgroup)
        yield LexicalPhrase(kind, first.start, last.end, head, last.category == "D", first is last)
