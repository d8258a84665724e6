"""Findings of reports, in one record for every scorer that reads them: facts, and statements in other words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from radreward.models.finding_gate import PROBABLE, FindingGate
from radreward.text.facts import Fact
from radreward.text.report_reading import read_report


class ReportFindings(NamedTuple):
    """The findings that a report states as present or possible."""

    facts: tuple[Fact, ...]
    """Those that the rules read, in an order that does not depend on the order of sentences."""
    unread: tuple[str, ...]
    """Distinct texts that report a finding in words that the rules do not know."""


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
    return {
        report: ReportFindings(
            tuple(fact for fact in reading.facts if fact.positive),
            tuple(text for text in dict.fromkeys(reading.unread) if text not in dismissed),
        )
        for report, reading in readings.items()
    }
