"""Rates of errors over many reports, from the evidence of CRIMSON's score."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from radreward.scorers.crimson import JudgedFinding
from radreward.types import Scores


class FindingRates(NamedTuple):
    """Rates of errors in findings that matter for the patient. A rate without reports or findings is NaN."""

    num_reports: int
    """Reports with a score."""
    actionable_errors_per_report: float
    """Missed and false findings that are urgent or actionable, and wrong details that change care, per report."""
    urgent_recall: float
    """Share of the urgent findings of the references that the candidates state."""
    urgent_precision: float
    """Share of the urgent findings of the candidates that the references state."""


def finding_rates(scores: Scores) -> FindingRates:
    """Return the rates of errors of many reports.

    With m urgent findings in both reports, u missed and f false ones, the recall is m / (m + u) and the precision
    m / (m + f), over all reports together. The urgency of a finding in both reports is that in the reference.

    Args:
        scores: Scores by `Crimson`.

    >>> from radreward.scorers.crimson import Crimson
    >>> references = ["Large pneumothorax. Small left effusion.", "Large pneumothorax."]
    >>> candidates = ["Large pneumothorax. Small right effusion.", "Pneumonia."]
    >>> finding_rates(Crimson().score(references, candidates))
    FindingRates(num_reports=2, actionable_errors_per_report=1.5, urgent_recall=0.5, urgent_precision=1.0)
    """
    urgent: Counter[str] = Counter()
    num_reports = errors = 0
    for row in scores.evidence or ():
        if row is None:
            continue
        num_reports += 1
        for finding in row:
            if isinstance(finding, JudgedFinding):
                errors += _num_errors(finding)
                if finding.significance == "urgent":
                    urgent[finding.result] += 1
    matched = urgent["matched"]
    return FindingRates(
        num_reports,
        _ratio(errors, num_reports),
        _ratio(matched, matched + urgent["missed"]),
        _ratio(matched, matched + urgent["false"]),
    )


def _num_errors(finding: JudgedFinding) -> int:
    if finding.result == "matched":
        return sum(weight > 0 for weight in finding.wrong_details.values())
    return int(finding.significance in ("urgent", "actionable"))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
