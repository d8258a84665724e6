"""Recognition of texts that state something about a chest."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.changes import CHANGE
from radreward.text.lexicon import lowercase_same_length, match_lexicon
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.section_files import read_sections
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_SENTENCES, split_sentences

_STATING_CATEGORIES = frozenset("ANDEXYGV")
"""Organs, findings, diseases, generic names, states and devices; words of location, size and form do not suffice."""
_ALL_CLEAR = re.compile(
    r"\b(?:extubated|nad|negative|nil (?:acute|else)|no (?:features of|(?:radiographic )?(?:evidence of )?acute)"
    r"|same as|wnl)\b"
)
_ADDRESS = re.compile("|".join(rf"(?:{cue})" for cue in read_sections("addresses.txt")["addresses"]))


def reads_as_report(text: str) -> bool:
    """Return True if a sentence of a text has a word for a body part, a finding, a normal state or a change.

    A sentence that addresses the reader, such as the refusal of a language model, does not count. Recognizes all
    3,236 reports of Open-i.

    >>> [reads_as_report(text) for text in ("Stable.", "No acute disease.", "WNL", "The cat sat on the mat.")]
    [True, True, True, False]
    >>> reads_as_report("I'm sorry, but I cannot interpret chest X-rays.")
    False
    """
    sentences = split_sentences(text[:MAX_REPORT_CHARS])
    return any(_states(sentence) for sentence in sentences if not addresses_reader(sentence))


@lru_cache(CACHED_SENTENCES)
def addresses_reader(sentence: str) -> bool:
    """Return True for a sentence of a language model about itself or the request.

    >>> addresses_reader("I cannot view the image."), addresses_reader("I cannot exclude a pneumothorax.")
    (True, False)
    """
    return bool(_ADDRESS.search(lowercase_same_length(sentence)))


def _states(sentence: str) -> bool:
    if any(match.category in _STATING_CATEGORIES for match in match_lexicon(sentence)) or sentence_facts(sentence):
        return True
    lower = lowercase_same_length(sentence)
    return bool(_ALL_CLEAR.search(lower) or CHANGE.search(lower))
