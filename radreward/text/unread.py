"""Statements in which the vocabulary reads no finding although they may report one."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from radreward.text.facts import Sentence
from radreward.text.report_parser import BODY_SECTIONS, is_heading, parse_report
from radreward.text.standard_wording import may_report_finding


class ReportReading(NamedTuple):
    """Sentences of findings and impression, by the rules."""

    num_read: int
    """Number of sentences that are read."""
    unread: tuple[str, ...]
    """Sentences that are not read, in order and with single spaces."""


@lru_cache(256)
def read_statements(report: str) -> ReportReading:
    """Return the sentences of findings and impression that rules do not read, and the number of those that they read.

    A sentence is read if it states a finding, calls one resolved, only denies findings, or calls body parts normal or
    unchanged. The others use words that the vocabulary does not know, or report no finding, such as the technique.

    >>> read_statements("Small left effusion. The heart is normal. Odd contour of a rib. The edema has resolved.")
    ReportReading(num_read=3, unread=('Odd contour of a rib.',))
    """
    body = [
        sentence
        for sentence in parse_report(report).sentences
        if sentence.section in BODY_SECTIONS and not is_heading(sentence)
    ]
    unread = tuple(sentence.text for sentence in body if not _is_read(sentence))
    return ReportReading(len(body) - len(unread), unread)


def _is_read(sentence: Sentence) -> bool:
    states_finding = any(fact.positive or fact.change == "resolved" for fact in sentence.facts)
    return states_finding or not may_report_finding(sentence.text)
