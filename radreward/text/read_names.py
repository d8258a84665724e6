"""Names of findings that are only read: further names, and body parts with a state, as in "the heart is enlarged"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import phrases_of, read_sections

_ADVERB = r"(?:\w+ly\s)?"
_GAP = (
    r":?(?:\s(?:\d{1,2}|a\s(?:bit|little)|again|also|appears?|are|be|been|behind\sthe\sheart|borderline|far|has|have|is|"
    r"lies|looks?|mild|minimal|moderate|much|not|noted|now|on\sthe\s(?:left|right)|overall|quite|remains?|seen|severe|sits|"
    r"(?:in\s)?size|slight|clear,|clear\s(?:and|but)|upper\slimits?\s(?:of\s)?normal\s(?:or|to)|"
    r"somewhat|stable|stands|still|to|very|was|were|\w+ly)){0,6}\s"
)
"""Words between a body part and the state after it."""
_PART_WORDS = (
    r"(?:(?:the|a|an|right|left|both|bilateral|several|multiple|ascending|descending|transverse|thoracic|lumbar|proximal|"
    r"distal|appearing|central|mid|middle|mid-?thoracic|(?:antero|postero)?lateral|medial|anterior|"
    r"posterior|superior|inferior|surgical|visualized|"
    r"adjacent|one|two|three|four|five|six|(?:aspects?|base|bottom|end|neck|part|shaft|third|top) of|"
    r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    r"eleventh|twelfth|\d{1,2}(?:st|nd|rd|th)|[ctl]\d{1,2}|and|through|to),?\s){0,9}"
)
"""Words between a state and the body part after it that belong to the body part."""

_CLEAR = r"(?:,?(?:\s(?:and|but))?\sclear)?"
"""After a state, as in "hyperexpanded but clear lungs"."""
_LYING = (
    r"(?:accumulated|accumulates?|again|also|collected|collects?|collecting|extends?|extending|gathered|gathers?|has|have|is|"
    r"are|entered|identified|layers?|layering|lies|located|lying|now|noted|present|seen|tracked|tracks?|tracking|visible)"
)
"""Words between a noun and the preposition before its body part, as in "fluid has collected in"."""
_SHOWING = r"(?:contains?|demonstrates?|exhibits?|has|have|reveals?|shows?|with)"
_QUANTITY = r"(?:an?|any|extensive|large|marked|mild|minimal|moderate|new|no|old|severe|slight|small|some|\w+ly)"


class Mention(NamedTuple):
    """The name of a finding in a sentence, or a word for the state of a body part."""

    finding: str
    start: int
    end: int


def _rows(section: str) -> list[list[str]]:
    return [line.split(" | ") for line in read_sections("read_names.txt")[section]]


def _by_part_and_word(section: str) -> dict[tuple[str, str], str]:
    return {
        (part, word): key
        for key, parts, words in _rows(section)
        for part in parts.split("; ")
        for word in words.split("; ")
    }


READ_NAMES = {name: key for key, names in _rows("names") for name in names.split("; ")}
"""Further names of findings, in lowercase → key."""
SIMILAR_NAMES = phrases_of(read_sections("read_names.txt")["no finding"])
"""Names, in lowercase, that are similar to the name of a finding and mean another one, which has no key."""
FINDING_OF_STATE = _by_part_and_word("states")
"""Body part and adjective, in lowercase → key."""
FINDING_OF_NOUN = _by_part_and_word("nouns")
"""Body part and noun, in lowercase → key."""
FINDING_OF_ADJECTIVE = _by_part_and_word("adjectives")
"""Adjective of a body part and the noun after it, in lowercase → key."""
_KINDS = {key: (compile_phrases(words.split("; ")), narrower) for key, words, narrower in _rows("kinds")}
_DENIED_WORD = re.compile(
    r"\b(?:lack(?:s|ing)?|no|non|not|unlikely|without)[ -](?:any |be |evidence of |signs of |to )*$"
)
_FRACTURE_OF_PART = {word: key for key, words in _rows("fractures") for word in words.split("; ")}
_FRACTURED_PART = compile_phrases(_FRACTURE_OF_PART)
_PARTS, _STATES = (compile_phrases(words).pattern for words in zip(*FINDING_OF_STATE, strict=True))
_NOUN_PARTS, _NOUNS = (compile_phrases(words).pattern for words in zip(*FINDING_OF_NOUN, strict=True))
_ADJECTIVES, _NOUNS_AFTER = (compile_phrases(words).pattern for words in zip(*FINDING_OF_ADJECTIVE, strict=True))
_LINK = r"(?:,?\s(?:and|but)\s|,\s|[\s/-])"
"""Between two words of a list, as in "a tortuous, calcified aorta" and "ectasia/tortuosity"."""
_NO_LINK = r"(?!(?:and|through|to)\s)"
"""Before the words of a body part: in "prominent hila and the heart", another part follows."""
_END = (
    r"(?=\s?(?:[.,;:)/]|$)|\s(?:again|and|as|at|bilaterally|but|by|compared|compatible|consistent|due|for|from|in|likely|on|"
    r"related|secondary|since|suggest\w+|than|throughout|to|which|with|without)\b)"
)
"""After a further state of a part: in "is low and increased opacity", the state belongs to the next noun."""


def _list(words: str, end: str = "") -> str:
    """Return a pattern of words in a list. It never gives back a word, since trying all splits takes too long."""
    return rf"(?>{words}(?:{_LINK}{_ADVERB}{words}{end})*)"


_PATTERNS = (
    (
        re.compile(rf"(?P<part>{_PARTS}){_GAP}(?P<words>{_list(_STATES, _END)})"),
        re.compile(_STATES),
        FINDING_OF_STATE,
    ),
    (
        re.compile(rf"(?P<words>{_list(_STATES)}){_CLEAR}\s{_NO_LINK}{_PART_WORDS}(?P<part>{_PARTS})"),
        re.compile(_STATES),
        FINDING_OF_STATE,
    ),
    (
        re.compile(
            rf"(?P<words>{_list(_NOUNS)})(?:\s{_LYING}){{0,4}}(?:\s(?:of|in|into|at|along|around|within|through|involving|"
            rf"to|under|beneath|below|from)\s|\s{_NO_LINK}){_PART_WORDS}(?P<part>{_NOUN_PARTS})"
        ),
        re.compile(_NOUNS),
        FINDING_OF_NOUN,
    ),
    (
        re.compile(
            rf"(?P<part>{_NOUN_PARTS})\s(?:(?:again\s)?{_SHOWING}\s(?:{_QUANTITY}\s){{0,3}})?(?P<words>{_list(_NOUNS)})"
        ),
        re.compile(_NOUNS),
        FINDING_OF_NOUN,
    ),
    (
        re.compile(rf"(?P<part>{_ADJECTIVES})\s(?P<words>{_list(_NOUNS_AFTER)})"),
        re.compile(_NOUNS_AFTER),
        FINDING_OF_ADJECTIVE,
    ),
)
"""Patterns of a body part and a list of words for its state, the pattern of one word, and the findings."""
VOLUMES = frozenset(("hyperinflation", "hypoinflation"))
"""Findings that a change alone does not state: volumes that have decreased may still be normal."""
_CHANGED = re.compile(r"\b(?:has|have)\s(?:been\s)?(?:\w+\s)?(?:de|in)creased$")
_COMPARED = re.compile(r"\s(?:compared|from|relative|since)\b")
"""The start of a comparison, as in "decreased since May"."""


def states_of_parts(sentence: str) -> Iterator[Mention]:
    """Yield the states in a lowercase sentence that are findings of the body part beside them.

    A state stands after the body part, as in "the aorta is tortuous", before it, as in "tortuous aorta", or is a noun,
    as in "tortuosity of the aorta". A state may be yielded twice.

    >>> sentence = "the aorta is mildly tortuous and the heart is not enlarged."
    >>> [(state.finding, sentence[state.start : state.end]) for state in states_of_parts(sentence)]
    [('tortuous', 'tortuous'), ('cardiomegaly', 'enlarged')]
    """
    for pattern, word, findings in _PATTERNS:
        for match in pattern.finditer(sentence):
            for state in word.finditer(sentence, *match.span("words")):
                key = _finding_of(match["part"], state[0], findings)
                if key and not (key in VOLUMES and _is_change(sentence, state.end())):
                    yield Mention(key, *state.span())


def _is_change(sentence: str, end: int) -> bool:
    """Return True if a word that ends there says how something has changed, and not how it is."""
    is_participle = sentence.endswith(("increased", "decreased"), 0, end)
    return is_participle and bool(_CHANGED.search(sentence, 0, end) or _COMPARED.match(sentence, end))


def _finding_of(part: str, word: str, findings: Mapping[tuple[str, str], str]) -> str | None:
    """Return the finding of a body part and a word, or that of the part without its first words."""
    words = part.split(" ")
    parts = (" ".join(words[start:]) for start in range(len(words)))
    return next((findings[name, word] for name in parts if (name, word) in findings), None)


def fracture_of(clause: str) -> str:
    """Return the finding that a fracture is in a lowercase clause with the name of one body part, or "fracture".

    >>> fracture_of("united ######## of the left clavicle"), fracture_of("######## of a rib and the sternum")
    ('clavfx', 'fracture')
    """
    keys = {_FRACTURE_OF_PART[part[0]] for part in _FRACTURED_PART.finditer(clause)}
    return keys.pop() if len(keys) == 1 else "fracture"


def narrower_finding(key: str, clause: str) -> str:
    """Return the narrower finding that a lowercase clause states beside the name of a finding, or its own key.

    >>> narrower_finding("effusion", "small loculated left ########"), narrower_finding("effusion", "small ########")
    ('loculated', 'effusion')
    >>> narrower_finding("pneumothorax", "############ without signs of tension")
    'pneumothorax'
    """
    words, narrower = _KINDS.get(key, (None, key))
    found = words.search(clause) if words else None
    return narrower if found and not _DENIED_WORD.search(clause, 0, found.start()) else key
