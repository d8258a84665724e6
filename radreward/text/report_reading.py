"""One reading of a report: the facts that rules find, and the statements that they do not read."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from radreward.text.described_facts import described_facts
from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.findings import DISPLACED
from radreward.text.later_changes import later_change
from radreward.text.report_parser import BODY_SECTIONS, PartiallyParsedSentence, is_heading, parse_report
from radreward.text.sentence_splitter import CACHED_REPORTS
from radreward.text.standard_wording import may_report_finding


class ReportReading(NamedTuple):
    """Facts of a report, and its sentences of findings and impression that are not read."""

    facts: tuple[Fact, ...]
    """In an order that does not depend on the order of sentences."""
    num_read: int
    """Number of sentences that are read."""
    unread: tuple[str, ...]
    """Sentences that are not read, in order and with single spaces."""
    partly_read: tuple[Sentence, ...] = ()
    """Sentences that state findings, and may state more than the rules read."""


@lru_cache(CACHED_REPORTS)
def read_report(report: str) -> ReportReading:
    """Return what rules read in a report, and the sentences of findings and impression that they do not read.

    A sentence is read if it states a finding, calls one resolved, only denies findings, or calls body parts normal or
    unchanged. The others use words that the vocabulary does not know, or report no finding, such as the technique.

    >>> reading = read_report("Small left effusion. The heart is normal. Odd contour of a rib. The edema has resolved.")
    >>> [fact.finding for fact in reading.facts if fact.positive], reading.num_read, reading.unread
    (['effusion'], 3, ('Odd contour of a rib.',))
    """
    parsed = AnnotatedReport(tuple(map(_with_descriptors, parse_report(report).sentences)))
    body = [entry for entry in parsed.sentences if entry.section in BODY_SECTIONS and not is_heading(entry)]
    unread = tuple(sentence.text for sentence in body if not _is_read(sentence))
    facts = tuple(sorted(parsed.facts, key=lambda fact: tuple(map(str, fact))))
    partly_read = (entry for entry in body if isinstance(entry, PartiallyParsedSentence) and _states_finding(entry))
    return ReportReading(facts, len(body) - len(unread), unread, tuple(partly_read))


def _with_descriptors(sentence: Sentence) -> Sentence:
    described = described_facts(sentence.text) if sentence.facts else ()
    facts = zip(sentence.facts, described, strict=True)  # sentences may share the details of a fact
    return sentence._replace(facts=tuple(_described(fact, own) for fact, own in facts))


def _described(fact: Fact, own: Fact) -> Fact:
    """Return a fact with the descriptors of its sentence, and as displaced or broken if this calls it so."""
    if own.finding == DISPLACED.get(fact.finding):
        fact = fact._replace(finding=own.finding, location=own.location)
    return fact._replace(change=fact.change or own.change, size=own.size, descriptors=own.descriptors)


def _is_read(sentence: Sentence) -> bool:
    return (
        _states_finding(sentence)
        or not may_report_finding(sentence.text)
        or later_change(sentence.text.lower()) is not None
    )


def _states_finding(sentence: Sentence) -> bool:
    return any(fact.is_stated for fact in sentence.facts)
