"""Findings of reports, in one record for every scorer that reads them: facts, and statements in other words."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import chain
from typing import NamedTuple

from radreward.models.finding_gate import PROBABLE, FindingGate
from radreward.text.facts import Fact
from radreward.text.findings import ancestors
from radreward.text.report_reading import ReportReading, read_report


class ReportFindings(NamedTuple):
    """The findings that a report states as present or possible."""

    facts: tuple[Fact, ...]
    """Those that the rules read, in an order that does not depend on the order of sentences."""
    unread: tuple[str, ...]
    """Distinct texts that report a finding in words that the rules do not know."""
    denied: frozenset[str] = frozenset()
    """Findings that the report denies, and states nowhere."""

    def denies(self, finding: str) -> bool:
        """Return True if the report denies a finding, or a more general one.

        >>> ReportFindings((), (), frozenset({"opacity"})).denies("pneumonia")
        True
        """
        return not self.denied.isdisjoint(ancestors(finding))


def read_findings(reports: Iterable[str], gate: FindingGate) -> dict[str, ReportFindings]:
    """Return the findings of each distinct report. Statements that the rules do not read must pass the gate.

    >>> from radreward.models.finding_gate import embedded_gate
    >>> report = "Small left effusion. No edema. Finely branching lines at the left base. Rotated film."
    >>> [findings] = read_findings([report], embedded_gate()).values()
    >>> [fact.finding for fact in findings.facts], findings.unread
    (['effusion'], ('Finely branching lines at the left base.',))
    """
    readings = {report: read_report(report) for report in reports}
    unread = list(dict.fromkeys(chain.from_iterable(reading.unread for reading in readings.values())))
    dismissed = gate.dismissed(unread, PROBABLE)
    return {report: _without_dismissed(reading, dismissed) for report, reading in readings.items()}


def _without_dismissed(reading: ReportReading, dismissed: Container[str]) -> ReportFindings:
    facts = tuple(fact for fact in reading.facts if fact.positive)
    denied = {fact.finding for fact in reading.facts if not fact.positive and not fact.change}
    return ReportFindings(
        facts,
        tuple(text for text in dict.fromkeys(reading.unread) if text not in dismissed),
        frozenset(denied.difference(*(ancestors(fact.finding) for fact in facts))),
    )
