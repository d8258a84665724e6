"""Statements whose findings another report does not have, by the vocabulary."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from radreward.text.findings import can_mean_same
from radreward.text.lexicon import lowercase_same_length, match_lexicon
from radreward.text.normal_statements import findings_about
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_REPORTS, CACHED_SENTENCES, split_sentences
from radreward.text.standard_wording import may_report_finding

_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM_CHARS = 5
"""Words are equal if their first letters are, as in "granuloma" and "granulomatous"."""
_COMMON_CATEGORIES = frozenset("ZQGFXY")
"""Sections of the lexicon whose words are about many findings: zones, forms, normal and abnormal states."""
_BODY_PARTS = frozenset("AB")
_COMMON_STEM = re.compile(
    "lungs?|pulmo|chest|thora|and|are|but|can|for|from|has|have|its|may|not|that|the|there|this|was|were|with"
)


class _Reading(NamedTuple):
    """Findings that the vocabulary reads in a text, and the words of the statements that it does not read."""

    findings: frozenset[str]
    """Findings that it states, and those of body parts in statements that are not read and call nothing normal."""
    unread_stems: frozenset[str]


def is_unrelated(statement: str, report: str) -> bool:
    """Return True if a statement reports findings and a report has none of them, as far as the vocabulary reads it.

    The vocabulary does not read every statement. The result is False if a statement of the report in which no finding
    is read shares a word with this statement, or names the body part of its finding, which it does not call normal.

    Args:
        statement: One or several sentences.
        report: The other report.

    >>> texts = ("Blunted costophrenic angle.", "Nodule.", "Rib fracture.", "Looks odd.")
    >>> [is_unrelated(text, "Left effusion. Irregular contour of a rib.") for text in texts]
    [False, True, False, False]
    """
    own, other = _read_statement(statement), _read_report(report)
    return (
        bool(own.findings)
        and own.unread_stems.isdisjoint(other.unread_stems)
        and not any(can_mean_same(first, second) for first in own.findings for second in other.findings)
    )


@lru_cache(CACHED_SENTENCES)
def _read_statement(statement: str) -> _Reading:
    facts = [fact for sentence in split_sentences(statement) for fact in sentence_facts(sentence) if fact.positive]
    return _Reading(frozenset(fact.finding for fact in facts), _stems(statement))


@lru_cache(CACHED_REPORTS)  # all candidates of a group have the same reference
def _read_report(report: str) -> _Reading:
    findings, stems = set[str](), set[str]()
    for sentence in split_sentences(report):
        stated = {fact.finding for fact in sentence_facts(sentence) if fact.positive}
        findings |= stated
        if stated or not may_report_finding(sentence):
            continue
        if any(match.category == "G" for match in match_lexicon(sentence)):
            stems |= _stems(sentence, _COMMON_CATEGORIES | _BODY_PARTS)
        else:
            findings |= findings_about(sentence)
            stems |= _stems(sentence)
    return _Reading(frozenset(findings), frozenset(stems))


def _stems(text: str, left_out: frozenset[str] = _COMMON_CATEGORIES) -> frozenset[str]:
    """Return the stems of the words of a text, without common ones and those of some sections of the lexicon.

    >>> sorted(_stems("There is a small left calcified granuloma."))
    ['granu']
    """
    lower = lowercase_same_length(text)
    common = " ".join(lower[m.start : m.end] for m in match_lexicon(text) if m.category in left_out)
    words = {*_WORD.findall(lower)} - {*_WORD.findall(common)}
    return frozenset(stem for word in words if not _COMMON_STEM.fullmatch(stem := word[:_STEM_CHARS]))
