"""Findings of reports, in one record for every scorer that reads them: facts, and statements in other words."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from radreward.models.finding_gate import LIKELY, POSSIBLE, PROBABLE, FindingGate
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, ancestors
from radreward.text.report_reading import ReportReading, read_report
from radreward.text.sentence_parser import sentence_facts

SIMILAR = 0.6
"""Lowest similarity of a statement with the name of the finding that it is taken for."""
_NOTHING: Mapping[str, Fact] = MappingProxyType({})


class ReportFindings(NamedTuple):
    """The findings that a report states as present or possible."""

    facts: tuple[Fact, ...]
    """Those that the rules read or recognize, in an order that does not depend on the order of sentences."""
    unread: tuple[str, ...]
    """Distinct texts that report a finding in words that the rules do not know."""
    denied: frozenset[str] = frozenset()
    """Findings that the report denies, and states nowhere."""
    recognized: Mapping[str, Fact] = _NOTHING
    """Statements in other words that are taken for a finding, and what they state; among `facts` if nothing else does.
    """

    def all_facts(self, read: Iterable[Fact]) -> tuple[Fact, ...]:
        """Return facts that the rules read in the report, absent ones too, and those that are recognized."""
        read = tuple(read)
        return (*read, *(fact for fact in self.facts if fact not in read))

    def denies(self, finding: str) -> bool:
        """Return True if the report denies a finding, or a more general one.

        >>> ReportFindings((), (), frozenset({"opacity"})).denies("pneumonia")
        True
        """
        return not self.denied.isdisjoint(ancestors(finding))


def read_findings(reports: Iterable[str], gate: FindingGate, recognize: bool = True) -> dict[str, ReportFindings]:
    """Return the findings of each distinct report. Statements that the rules do not read must pass the gate.

    A statement that passes `LIKELY` and is similar to the name of a finding, see `SIMILAR`, is taken for this finding,
    with the details that the rules read in it; if it has resolved, the statement is left out.

    Args:
        reports: Reports.
        gate: The gate.
        recognize: False for a scorer whose model reads statements by itself: they all remain unread, also those which
            hardly pass but are similar to a name.

    >>> from radreward.models.finding_gate import embedded_gate
    >>> report = "Small left effusion. No edema. Finely branching lines at the left base. Rotated film."
    >>> [findings] = read_findings([report], embedded_gate()).values()
    >>> [fact.finding for fact in findings.facts], findings.unread
    (['effusion'], ('Finely branching lines at the left base.',))
    """
    readings = {report: read_report(report) for report in reports}
    unread = list(dict.fromkeys(chain.from_iterable(reading.unread for reading in readings.values())))
    dismissed = gate.dismissed(unread, PROBABLE)
    names = gate.similar_names(unread).items()
    similar = {text: name for text, name in names if name.finding and name.similarity >= SIMILAR}
    if not recognize:
        dismissed -= similar.keys() - gate.dismissed(unread, POSSIBLE)
        return {report: _findings(reading, dismissed, _NOTHING) for report, reading in readings.items()}
    likely = {text: similar[text].finding for text in similar.keys() - gate.dismissed(unread, LIKELY)}
    facts = {text: _fact(finding, text) for text, finding in likely.items() if not _denies(text, finding)}
    dismissed |= {text for text, fact in facts.items() if not fact.positive}
    recognized = {text: fact for text, fact in facts.items() if fact.positive}
    return {report: _findings(reading, dismissed, recognized) for report, reading in readings.items()}


def _findings(reading: ReportReading, dismissed: Container[str], recognized: Mapping[str, Fact]) -> ReportFindings:
    facts = tuple(fact for fact in reading.facts if fact.positive)
    names = {fact.finding for fact in facts}
    own = {text: recognized[text] for text in reading.unread if text in recognized}
    others = dict.fromkeys(fact for fact in own.values() if fact.finding not in names)
    facts = tuple(sorted((*facts, *others), key=lambda fact: tuple(map(str, fact))))
    denied = {fact.finding for fact in reading.facts if not fact.positive and not fact.change}
    return ReportFindings(
        facts,
        tuple(text for text in dict.fromkeys(reading.unread) if text not in dismissed and text not in own),
        frozenset(denied.difference(*(ancestors(fact.finding) for fact in facts))),
        own,
    )


def _denies(statement: str, finding: str) -> bool:
    """Return True if the rules read in a statement that there is no such finding, or none that is more general.

    >>> _denies("No pneumothorax, slight volume loss.", "tension")
    True
    """
    return any(fact.finding in ancestors(finding) for fact in sentence_facts(statement))


def _fact(finding: str, statement: str) -> Fact:
    """Return what a statement states about a finding that it does not name, as if the name were its last word.

    A denial may belong to other words, as in "lucency without lung markings"; the finding is then present.

    >>> _fact("pneumothorax", "Large rim of air around the left lung.")[2:4]
    ('left', 'severe')
    >>> _fact("effusion", "The former fluid is gone.").change
    'resolved'
    """
    named = f"{statement.rstrip(' .')} {FINDINGS[finding].plain_names[0]}."
    stated = (fact for fact in sentence_facts(named) if fact.finding == finding and fact.is_stated)
    return next(stated, Fact(finding))
