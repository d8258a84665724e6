"""Edits of single facts."""

from __future__ import annotations

from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, is_related
from radreward.text.locations import mirror_side
from radreward.text.severity import SEVERITY_WORDS


def mirrored_location(fact: Fact) -> str | None:
    """Return the location on the other side, or None if there is none.

    >>> mirrored_location(Fact("effusion", location="left")), mirrored_location(Fact("effusion", location="bilateral"))
    ('right', None)
    """
    mirrored = mirror_side(fact.location or "")
    return mirrored if mirrored != fact.location and mirrored in FINDINGS[fact.finding].locations else None


def other_severities(fact: Fact) -> list[str]:
    """Return the other levels of severity.

    >>> other_severities(Fact("effusion", severity="mild"))
    ['moderate', 'severe']
    """
    return [severity for severity in SEVERITY_WORDS if severity != fact.severity]


def flip_polarity(fact: Fact) -> Fact:
    """Return the finding without details, absent if it was positive and else present.

    >>> flip_polarity(Fact("effusion", location="left")).polarity
    'absent'
    """
    return Fact(fact.finding, "absent" if fact.positive else "present")


def similar_findings(fact: Fact) -> list[str]:
    """Return unrelated findings of the same region that can have the same location and severity.

    >>> similar_findings(Fact("pneumothorax", location="left", severity="mild"))[:2]
    ['effusion', 'loculated']
    """
    region = FINDINGS[fact.finding].region
    return [
        key
        for key, finding in FINDINGS.items()
        if finding.region == region
        and not is_related(key, fact.finding)
        and (not fact.location or fact.location in finding.locations)
        and (not fact.severity or finding.has_severity)
    ]


def more_general(fact: Fact) -> Fact | None:
    """Return the fact under the name of the more general finding, without details that this cannot have, or None.

    >>> more_general(Fact("pneumonia", location="left lower")), more_general(Fact("scar"))
    (Fact(finding='consolidation', polarity='present', location='left lower', severity=None, change=None), None)
    """
    parent = FINDINGS[fact.finding].parent
    if parent is None:
        return None
    finding = FINDINGS[parent]
    return fact._replace(
        finding=parent,
        location=fact.location if fact.location in finding.locations else None,
        severity=fact.severity if finding.has_severity else None,
        change=fact.change if finding.can_change else None,
    )
