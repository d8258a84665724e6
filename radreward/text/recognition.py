"""Recognition of texts that state something about a chest."""

from __future__ import annotations

import re

from radreward.text.changes import CHANGE
from radreward.text.lexicon import lowercase_same_length, match_lexicon
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.section_files import read_sections
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import split_sentences

_STATING_CATEGORIES = frozenset("NDXYGV")
"""Findings, diseases, states and devices; words of location, size and form do not suffice."""
_DETAIL_CATEGORIES = frozenset("ABZQF")
_NOT_A_PART = re.compile("chest|thorax")
"""Body parts that name the examination: "chest radiograph" states nothing."""
_DENIES = re.compile(r"\b(?:absent|free of|negative for|nil|no|nor|not|without)\b")
_ALL_CLEAR = re.compile(
    r"\b(?:extubated|nad|negative|nil (?:acute|else)|no (?:features of|(?:radiographic )?(?:evidence of )?acute)"
    r"|same as|wnl)\b"
)
_ADDRESS = re.compile("|".join(rf"(?:{cue})" for cue in read_sections("addresses.txt")["addresses"]))


def reads_as_report(text: str) -> bool:
    """Return True if a sentence of a text has a word for a finding, a body part, a normal state or a change.

    A sentence to the reader, such as the refusal of a language model, does not count, nor does one that names only the
    examination. Recognizes all 3,236 reports of Open-i.

    >>> [reads_as_report(text) for text in ("Stable.", "No acute disease.", "WNL", "The cat sat on the mat.")]
    [True, True, True, False]
    >>> reads_as_report("I'm sorry, but I cannot interpret chest X-rays."), reads_as_report("Two views of the chest.")
    (False, False)
    """
    sentences = split_sentences(text[:MAX_REPORT_CHARS])
    return any(_states(sentence) for sentence in sentences if not addresses_reader(sentence))


def addresses_reader(sentence: str) -> bool:
    """Return True for a sentence of a language model about itself or the request.

    >>> addresses_reader("I cannot view the image."), addresses_reader("I cannot exclude a pneumothorax.")
    (True, False)
    """
    return bool(_ADDRESS.search(lowercase_same_length(sentence)))


def _states(sentence: str) -> bool:
    lower = lowercase_same_length(sentence)
    matches = list(match_lexicon(sentence))
    categories = {match.category for match in matches}
    if not _STATING_CATEGORIES.isdisjoint(categories):
        return True
    if any(match.category == "A" and not _NOT_A_PART.fullmatch(lower, match.start, match.end) for match in matches):
        return True
    if "E" in categories and (_DENIES.search(lower) or not _DETAIL_CATEGORIES.isdisjoint(categories)):
        return True
    # The names of rare findings are not in the lexicon.
    return bool(sentence_facts(sentence) or _ALL_CLEAR.search(lower) or CHANGE.search(lower))
