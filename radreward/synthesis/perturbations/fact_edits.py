"""Edits of single facts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from radreward.synthesis.fact_sampling import ALL_SIZES, SIZES, is_certain
from radreward.text.facts import Change, Fact
from radreward.text.finding_relations import MEANT_BY_VAGUE_NAME, SHOWN_BY_SIGN
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, ancestors
from radreward.text.locations import mirror_side
from radreward.text.measurements import MEASURED_FINDINGS, is_same_size
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


def other_sizes(size: float) -> list[float]:
    """Return sizes in mm that are not another measurement of the same finding.

    >>> other_sizes(14.0)[:3], 16.0 in other_sizes(14.0)
    ([3.0, 4.0, 5.0], False)
    """
    return [other for other in ALL_SIZES if not is_same_size(size, other)]


def similar_sizes(size: float) -> list[float]:
    """Return other sizes in mm that may be another measurement of the same finding.

    >>> similar_sizes(5.0), similar_sizes(28.0)
    ([3.0, 4.0, 6.0, 7.0], [24.0, 25.0, 26.0, 27.0, 29.0])
    """
    return [other for other in ALL_SIZES if other != size and is_same_size(size, other)]


def with_other_severity(fact: Fact) -> list[Fact]:
    """Return the fact with other severities; if it has a size, with other sizes and their severity.

    >>> [changed.severity for changed in with_other_severity(Fact("effusion", severity="mild"))]
    ['moderate', 'severe']
    >>> changed = with_other_severity(Fact("nodule", severity="mild", size=6.0))[-1]
    >>> changed.severity, changed.size
    ('severe', 70.0)
    """
    if fact.size is None:
        return [fact._replace(severity=severity) for severity in other_severities(fact)] if fact.severity else []
    severity_of = {size: severity for severity, sizes in SIZES.items() for size in sizes}
    return [fact._replace(size=size, severity=fact.severity and severity_of[size]) for size in other_sizes(fact.size)]


def with_other_change(fact: Fact) -> list[Fact]:
    """Return a present fact with every other change that it can have; none for findings that cannot change.

    >>> [other.change for other in with_other_change(Fact("effusion", change="new"))]
    ['worse', 'better', 'stable']
    """
    finding = FINDINGS[fact.finding]
    if fact.polarity != "present" or not finding.can_change:
        return []
    changes: tuple[Change, ...] = ("new", "stable") if finding.is_device else ("new", "worse", "better", "stable")
    return [fact._replace(change=change) for change in changes if change != fact.change]


def _renamed(fact: Fact, key: str) -> Fact:
    """Return a fact with another finding, without details that this finding cannot have."""
    finding = FINDINGS[key]
    return fact._replace(
        finding=key,
        location=fact.location if fact.location in finding.locations else None,
        severity=fact.severity if finding.has_severity else None,
        change=fact.change if finding.can_change else None,
        size=fact.size if key in MEASURED_FINDINGS else None,
    )


def more_general_facts(fact: Fact) -> Iterator[Fact]:
    """Yield the fact with every more general finding, nearest first, then with its signs and vague names.

    >>> [general.finding for general in more_general_facts(Fact("pneumonia"))]
    ['consolidation', 'opacity', 'bronchogram', 'silhouette', 'hiddendia', 'spinesign']
    """
    general = fact
    for key in ancestors(fact.finding)[1:]:
        general = _renamed(general, key)
        yield general
    for key in _less_certain_names(fact.finding):
        if FINDINGS[key].can_change or not fact.change:
            yield _renamed(fact, key)


@cache
def _less_certain_names(key: str) -> tuple[str, ...]:
    """Return the signs and the vague names of a finding, without its more general findings."""
    kinds = set(ancestors(key))
    names = [*SHOWN_BY_SIGN.items(), *MEANT_BY_VAGUE_NAME.items()]
    less_certain = dict.fromkeys(name for name, meanings in names if meanings & kinds and name not in kinds)
    return tuple(name for name in less_certain if name in GENERATED_FINDINGS)


def more_specific_facts(fact: Fact) -> list[Fact]:
    """Return the fact with every kind of its finding, then with the findings that its name shows or can mean.

    Details that the new finding cannot have are left out.

    >>> [kind.finding for kind in more_specific_facts(Fact("effusion"))]
    ['loculated', 'hemothorax', 'blunting', 'fissure', 'empyema']
    >>> [shown.finding for shown in more_specific_facts(Fact("kerley"))]
    ['edema', 'lymphangitic']
    """
    kinds = [key for key in GENERATED_FINDINGS if key != fact.finding and fact.finding in ancestors(key)]
    meanings = [*SHOWN_BY_SIGN.get(fact.finding, ()), *MEANT_BY_VAGUE_NAME.get(fact.finding, ())]
    names = dict.fromkeys([*kinds, *(key for key in sorted(meanings) if key in GENERATED_FINDINGS)])
    return [_renamed(fact, key) for key in names if FINDINGS[key].can_change or not fact.change]


def with_other_certainty(fact: Fact) -> list[Fact]:
    """Return a certain fact as uncertain, or an uncertain one as certain; none for devices and changed findings.

    >>> [other.polarity for other in with_other_certainty(Fact("pneumothorax"))]
    ['uncertain']
    """
    if FINDINGS[fact.finding].is_device or fact.change or not fact.positive:
        return []
    return [fact._replace(polarity="uncertain" if is_certain(fact) else "present")]


def sides_of(fact: Fact) -> tuple[Fact, ...]:
    """Return a bilateral fact as one left and one right fact; nothing for other facts.

    >>> [side.location for side in sides_of(Fact("opacity", location="bilateral lower"))]
    ['left lower', 'right lower']
    """
    side, _, zone = (fact.location or "").partition(" ")
    locations = [f"{one} {zone}".strip() for one in ("left", "right")]
    if side != "bilateral" or not set(locations) <= set(FINDINGS[fact.finding].locations):
        return ()
    return tuple(fact._replace(location=location) for location in locations)


def both_sides(fact: Fact) -> Fact | None:
    """Return a fact of one side as a bilateral one, or None if this is impossible.

    >>> both_sides(Fact("effusion", location="left")) == Fact("effusion", location="bilateral")
    True
    """
    side, _, zone = (fact.location or "").partition(" ")
    location = f"bilateral {zone}".strip()
    if side not in ("left", "right") or location not in FINDINGS[fact.finding].locations:
        return None
    return fact._replace(location=location)
