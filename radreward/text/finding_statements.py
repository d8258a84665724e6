"""Statements that may report a finding, as opposed to those that only deny findings or call body parts normal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from radreward.text.entities import FINDING_TYPES, rule_entities
from radreward.text.lexicon import LexicalPhrase, find_phrases
from radreward.text.sentence_parser import MAX_SENTENCE_CHARS, parse_sentence
from radreward.text.severity import first_severity

_DENIALS = frozenset(f"Non-{name}" for name in FINDING_TYPES)
_LINK = re.compile(r"[,;/]|\b(?:or|nor|and|no|without|with|of|to|for|in|on|as|by|than)\b", re.IGNORECASE)
"""What joins two names in a list or a phrase."""
_LIST_GOES_ON = re.compile(r"(?:(?!\b(?:no|without)\b).)*\b(?:or|nor)\b", re.IGNORECASE | re.DOTALL)
"""An "or" before the next denial."""
_SIDE = re.compile(r"\b(?:left|right|bilateral)\b", re.IGNORECASE)
_POSITIVE = re.compile(r"\bpositive for\b", re.IGNORECASE)


@lru_cache(20_000)
def may_report_finding(statement: str) -> bool:
    """Return False for a statement that only denies findings, or calls body parts normal or unchanged.

    Such a statement neither matches a finding nor is an error about one: a candidate that denies what the reference
    reports has missed it, and one that also denies what the reference does not mention is not wrong. Statements of
    unknown words may report a finding, and so do those about devices, about findings that have resolved, those in which
    a negation may end without a comma or an "or", and those that are too long to be one sentence.

    >>> [may_report_finding(text) for text in ("Lungs clear without focal infiltrate.", "Clear lungs. Small effusion.")]
    [False, True]
    >>> [may_report_finding(text) for text in ("The effusion has resolved.", "no effusion mild edema")]
    [True, True]
    """
    if len(statement) > MAX_SENTENCE_CHARS:
        return True
    parsed = parse_sentence(statement)
    if any(fact.positive or fact.change == "resolved" for fact in parsed.facts):
        return True
    if parsed.is_complete:
        return False
    types = {entity.type for entity in rule_entities(statement)}
    if types & FINDING_TYPES or not types & _DENIALS:
        return True
    phrases = find_phrases(statement)
    names = [phrase for phrase in phrases if phrase.kind in ("finding", "generic", "abnormal")]
    return (
        any(phrase.kind == "device" for phrase in phrases)
        or bool(_POSITIVE.search(statement))
        or _has_unclear_negation(statement, names)
    )


def _has_unclear_negation(statement: str, names: Sequence[LexicalPhrase]) -> bool:
    """Return True if a name follows another without a link, or only after a comma and with a severity or side."""
    for first, second in pairwise(names):
        gap = statement[first.end : second.start]
        if not _LINK.search(gap):
            return True
        detailed = statement[second.start : second.end]
        states_detail = bool(first_severity(detailed) or _SIDE.search(detailed))
        if gap.strip() == "," and states_detail and not _LIST_GOES_ON.match(statement, second.end):
            return True
    return False
