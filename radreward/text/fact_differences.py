"""Details in which two reports differ about one finding, and the details that change patient care."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from radreward.text.descriptors import exclusions
from radreward.text.fact_matching import FactMatch, is_same_measure
from radreward.text.facts import Change, Fact
from radreward.text.finding_relations import USED_FOR_EACH_OTHER
from radreward.text.findings import MALPOSITIONED, ancestors, means_same_care
from radreward.text.locations import are_neighbors, contains_location
from radreward.text.measurements import MEASURED_FINDINGS
from radreward.text.severity import SEVERITY_LEVELS
from radreward.text.significance import significance_level

Detail = Literal["location", "name", "certainty", "severity", "size", "change", "state"]
REPORTABLE_CHANGES: frozenset[Change | None] = frozenset({"new", "worse", "better", "resolved"})
"""Changes whose omission is an error; a candidate may omit that a finding is stable."""
DETAIL_WEIGHT = 0.5
"""Weight of a wrong detail that changes care."""


class FactDifference(NamedTuple):
    """A detail in which two facts about one finding differ."""

    detail: Detail
    """"name" for a vaguer or a more specific name."""
    changes_care: bool
    reference: Fact
    candidate: Fact


def find_differences(match: FactMatch, is_generated: bool = False) -> list[FactDifference]:
    """Return the details that differ, each once even if two facts share it.

    Names that other people use for each other differ in generated reports only, see `match_facts`. A location, a
    severity or a size that only one report states is no difference; for a place, see `omits_place`.

    >>> fact = Fact("effusion", location="left", severity="mild")
    >>> match = FactMatch((fact,), (fact._replace(location="right", severity=None),))
    >>> [(entry.detail, entry.changes_care) for entry in find_differences(match)]
    [('location', True)]
    """
    differences: dict[Detail, FactDifference] = {}
    is_side = len(match.reference) + len(match.candidate) > 2
    for expected in match.reference:
        for stated in match.candidate:
            for detail, changes_care in _pair_differences(expected, stated, is_generated):
                if is_side and detail == "location":
                    continue
                if detail not in differences or changes_care > differences[detail].changes_care:
                    differences[detail] = FactDifference(detail, changes_care, expected, stated)
    return list(differences.values())


def omits_place(match: FactMatch) -> bool:
    """Return True if a candidate states a finding without a place, and the reference says where it is.

    >>> left = Fact("effusion", location="left")
    >>> omits_place(FactMatch((left,), (Fact("effusion"),))), omits_place(FactMatch((Fact("effusion"),), (left,)))
    (True, False)
    """
    places = ([fact.location for fact in side if fact.location and fact.positive] for side in match)
    in_reference, in_candidate = places
    return match.result == "matched" and bool(in_reference) and not in_candidate


def _pair_differences(expected: Fact, stated: Fact, is_generated: bool) -> Iterator[tuple[Detail, bool]]:
    """Yield each detail that differs, and True if it changes care. A wrong size is no wrong severity in addition."""
    level = significance_level(expected)
    if (expected.finding in MALPOSITIONED.values()) != (stated.finding in MALPOSITIONED.values()):
        yield "location", True
    elif expected.finding != stated.finding and (
        is_generated or {expected.finding, stated.finding} not in USED_FOR_EACH_OTHER
    ):
        specific = max(expected, stated, key=lambda fact: len(ancestors(fact.finding)))
        yield "name", specific.polarity == "present" and not means_same_care(expected.finding, stated.finding)
    if expected.polarity != stated.polarity:
        yield "certainty", level == "urgent"
    locations = (expected.location or "", stated.location or "")
    if all(locations) and not contains_location(*locations):
        moves_level = significance_level(expected._replace(location=stated.location)) != level
        yield "location", moves_level or not are_neighbors(*locations)
    for kind in exclusions(expected.descriptors, stated.descriptors):
        yield kind, True
    if expected.size and stated.size and not is_same_measure(expected.finding, expected.size, stated.size):
        yield "size", expected.finding in MEASURED_FINDINGS
    elif expected.severity and stated.severity and expected.severity != stated.severity:
        is_far = abs(SEVERITY_LEVELS[expected.severity] - SEVERITY_LEVELS[stated.severity]) > 1
        moves_level = significance_level(expected._replace(severity=stated.severity)) != level
        yield "severity", is_far or moves_level
    if expected.change != stated.change and (stated.change or expected.change in REPORTABLE_CHANGES):
        yield "change", bool(REPORTABLE_CHANGES & {expected.change, stated.change})
