"""The lexicon of chest radiology: phrases by their role in a sentence, read from lexicon.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from os.path import commonprefix
from typing import Literal, NamedTuple, cast

from radreward.text.findings import FINDINGS, GENERATED_FINDINGS
from radreward.text.phrase_index import PhraseIndex
from radreward.text.section_files import read_sections
from radreward.text.spelling import spellings

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
"""Code letters of the lexicon sections of names. Words that are both form and abnormal have the code Y."""

CUE_SECTIONS = ("negation before", "negation after", "no negation", "scope end")
"""Lexicon sections that determine the scope of a negation."""

_PhraseKind = Literal["finding", "generic", "device", "location", "abnormal", "normal"]
_PHRASES: tuple[tuple[_PhraseKind, str], ...] = (
    ("finding", "[FY]*+[QZBA]*+[FY]*+[BA]*+[ND]"),  # small left pleural effusion
    ("generic", "[FY]*+[QZBA]*+[FY]*+[BA]*+E"),  # acute cardiopulmonary process
    ("device", "[FQZBA]*+V"),  # right internal jugular catheter
    ("location", "[QZB]*+A|Q*+[ZB][QZB]*+"),  # left upper lobe; a body part ends it
    ("abnormal", "F*+[XY]"),  # mildly enlarged
    ("normal", "G"),  # normal
)
"""Phrases as patterns of category codes. A finding includes preceding words of severity, form and location."""
_PHRASE = re.compile("|".join(f"(?P<{kind}>{codes})" for kind, codes in _PHRASES))
_FINDING = re.compile(_PHRASES[0][1])
_GAP = re.compile(r"[\s/-]*")
_MAX_RUN = 64
"""Maximum number of adjacent entries that are searched together. It limits the time; no report has as many."""


class _LexiconMatch(NamedTuple):
    """An entry of the lexicon in a text."""

    category: str
    """One of `CATEGORY_CODES`, or Y."""
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalPhrase:
    """A phrase that names a finding, a location, a device or a state."""

    kind: _PhraseKind
    start: int
    end: int
    head: str
    """The last lexicon entry of the phrase, in lowercase."""
    is_disease: bool
    is_standalone: bool
    """True if the phrase consists of its head only."""


def inflections(phrase: str) -> Iterator[str]:
    """Yield a phrase and its plural, each in American and British spelling.

    >>> list(inflections("rib")), list(inflections("adenopathy")), list(inflections("mass"))
    (['rib', 'ribs'], ['adenopathy', 'adenopathies'], ['mass', 'masses'])
    >>> list(inflections("tumor"))
    ['tumor', 'tumour', 'tumors', 'tumours']
    """
    if phrase.endswith("y") and phrase[-2:-1] not in tuple("aeiou"):
        plural = phrase[:-1] + "ies"
    elif phrase.endswith("is"):
        plural = phrase[:-2] + "es"
    else:
        plural = phrase + ("es" if phrase.endswith(("s", "x", "h")) else "s")
    yield from spellings(phrase)
    yield from spellings(plural)


@lru_cache(1)
def load_lexicon() -> Mapping[str, tuple[str, ...]]:
    """Return all sections of the lexicon; "device" includes the devices, and "disease" the other rare findings."""
    sections = {
        name: [" ".join(phrase.split()).lower() for phrase in " ".join(lines).split(";") if phrase.strip()]
        for name, lines in read_sections("lexicon.txt").items()
    }
    rare = [finding for key, finding in FINDINGS.items() if key not in GENERATED_FINDINGS and not finding.is_device]
    sections["disease"] += [name.lower() for finding in rare for name in finding.plain_names]
    devices = (name.lower() for finding in FINDINGS.values() if finding.is_device for name in finding.plain_names)
    others = {phrase for section in ("finding", "form", "abnormal") for phrase in sections[section]}
    sections["device"] += [name for name in devices if name.split()[0] not in others and name not in others]
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in sections.items()}


@lru_cache(1)
def phrase_categories() -> Mapping[str, str]:
    """Return the category code of each phrase and its plural.

    If a phrase has several, it is the first in `CATEGORY_CODES`.
    """
    codes: dict[str, str] = {}
    ambiguous = set(load_lexicon()["form"]) & set(load_lexicon()["abnormal"])
    for section, code in CATEGORY_CODES.items():
        for phrase in load_lexicon()[section]:
            for form in inflections(phrase) if code in "AZVEND" else (phrase,):
                codes.setdefault(form, "Y" if phrase in ambiguous else code)
    return codes


def compile_phrases(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of phrases as complete words; of phrases at one position, it matches the longest.

    >>> compile_phrases(["rib", "rib cage", "lung"]).findall("ribs, lung, rib cage")
    ['lung', 'rib cage']
    """
    return re.compile(rf"(?<![\w-])(?=\w){_branches(sorted(set(phrases)))}(?![\w-]|'\w)")


def _branches(phrases: Sequence[str]) -> str:
    """Return a pattern of phrases in which a common start is written once, because `re` tries all branches in turn."""
    by_letter = groupby(filter(None, phrases), key=lambda phrase: phrase[0])
    branches = (_branch(list(group)) for _, group in by_letter)
    return f"(?:{'|'.join(branches)}){'' if all(phrases) else '?'}"


def _branch(phrases: Sequence[str]) -> str:
    start = commonprefix(phrases)
    rest = [phrase[len(start) :] for phrase in phrases]
    return re.escape(start) + (_branches(rest) if len(rest) > 1 else "")


@lru_cache(1)
def _lexicon_index() -> PhraseIndex:
    return PhraseIndex(phrase_categories())


@lru_cache(None)
def cue_pattern(section: str) -> re.Pattern[str]:
    """Return the pattern of one of `CUE_SECTIONS`."""
    return compile_phrases(load_lexicon()[section])


def lowercase_same_length(text: str) -> str:
    """Return a text in lowercase with the same length, so that offsets stay valid."""
    if text.isascii():
        return text.lower()
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def match_lexicon(text: str) -> Iterator[_LexiconMatch]:
    """Yield the lexicon entries in a text, from left to right.

    >>> [(match.category, match.start, match.end) for match in match_lexicon("Small left pleural effusion")]
    [('F', 0, 5), ('Z', 6, 10), ('N', 11, 27)]
    """
    for phrase, start in _lexicon_index().find(lowercase_same_length(text)):
        yield _LexiconMatch(phrase_categories()[phrase], start, start + len(phrase))


def head_word(phrase: str) -> str:
    """Return the head of the last abnormality in a phrase in lowercase, or all its words if the lexicon has none.

    >>> head_word("Left pleural effusion in the lung"), head_word("Odd lines in the lung.")
    ('pleural effusion', 'odd lines in the lung')
    """
    heads = [entry.head for entry in find_phrases(phrase) if entry.kind in ("finding", "generic", "abnormal")]
    return heads[-1] if heads else " ".join(lowercase_same_length(phrase).split()).rstrip(".!?")


def find_phrases(text: str) -> list[LexicalPhrase]:
    """Return the phrases of a sentence, from left to right.

    Only white space, hyphens and slashes separate the entries of a phrase.

    >>> [(phrase.kind, phrase.head) for phrase in find_phrases("Small left effusion, heart mildly enlarged.")]
    [('finding', 'effusion'), ('location', 'heart'), ('abnormal', 'enlarged')]
    """
    return [phrase for run in _adjacent_matches(text) for phrase in _phrases_of_run(text, run)]


def _adjacent_matches(text: str) -> list[list[_LexiconMatch]]:
    runs: list[list[_LexiconMatch]] = []
    for match in match_lexicon(text):
        if runs and len(runs[-1]) < _MAX_RUN and _GAP.fullmatch(text, runs[-1][-1].end, match.start):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _phrases_of_run(text: str, run: list[_LexiconMatch]) -> Iterator[LexicalPhrase]:
    codes = "".join(match.category for match in run)
    for match in _PHRASE.finditer(codes):
        if match.lastgroup == "abnormal" and _FINDING.match(codes, match.end()):
            continue  # "increased effusion" describes a finding, not a body part
        first, last = run[match.start()], run[match.end() - 1]
        yield LexicalPhrase(
            kind=cast("_PhraseKind", match.lastgroup),
            start=first.start,
            end=last.end,
            head=lowercase_same_length(text[last.start : last.end]),
            is_disease=last.category == "D",
            is_standalone=first is last,
        )
