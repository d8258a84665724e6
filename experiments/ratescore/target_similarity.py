"""Target similarity of entity names, from the findings, locations and severities that the lexicon reads in them.

A general encoder takes "left effusion" and "right effusion" for nearly the same, and "PTX" and "air in the pleural
space" for unrelated. The head over MiniLM is trained to give the similarities of this module instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, is_related
from radreward.text.locations import LOCATION_WORDS
from radreward.text.sentence_parser import parse_sentence
from radreward.text.severity import SEVERITY_WORDS, first_severity

FINDING_KEYS = tuple(GENERATED_FINDINGS)
LATERALITIES = ("", "left", "right", "bilateral")
SEVERITIES = ("", *SEVERITY_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityTargets:
    """Target cosines of entities, and factors that reduce them where two entities contradict each other.

    "Opposite" is left against right, "partial" left or right against bilateral. Targets are cosines; factors multiply
    the target of the same entities without the contradiction.

    Attributes:
        related: Target of a finding and a more specific kind of it.
        same_region: Target of two findings of the same region.
        opposite_finding: Factor for findings on opposite sides; also for names without a finding.
        partial_finding: Factor for findings whose sides overlap partially.
        other_zone_finding: Factor for findings in different zones.
        missing_side: Factor if only one of two findings has a side.
        one_severity_step: Factor for neighboring severities, such as mild and moderate.
        two_severity_steps: Factor for mild and severe.
        missing_severity: Factor if only one of two names has a severity.
        partial_location: Target of two locations whose sides overlap partially.
        other_zone_location: Target of two locations in different zones.
        missing_zone_location: Target of two locations of which only one has a zone.
        location_same_side: Target of a location and a finding that both have a side.
        location_without_side: Target of a location and a finding if one has no side.
        partial_location_finding: Factor for a location and a finding whose sides overlap partially.
        max_finding_share: Words next to more than this share of all findings belong to none of them.
        part_of_finding: Target of a word and the finding it describes: "enlarged" and "cardiomegaly".
        part_opposite: Factor for such words on opposite sides.
        part_one_severity_step: Factor for such words of neighboring severities.
        part_two_severity_steps: Factor for such words of severities two steps apart.
        structure_of_finding: Target of a structure and a finding of it: "heart" and "cardiomegaly".
        structure_same_side: Target of a structure and a finding on the same side: "left" and "left effusion".
        max_unrelated_structure: Maximum target of any other structure and finding.
        structure_opposite_finding: Factor for a structure and a finding on opposite sides.
        side_without_structure: Factor for a side alone and a structure: "left" and "heart".
        opposite_role: Factor for structures, or for entities of which one is negated, on opposite sides.
        partial_role: Factor for such entities whose sides overlap partially.
        other_zone_role: Factor for such entities in different zones.
        negated_same_finding: Target of a finding and its own negation.
        negated_other_finding: Target of a finding and the negation of another.
        negated_without_finding: Factor of the encoder's cosine if one of these names no finding.
        negated_finding_share: Weight of the finding similarity of two negated findings; the rest is the encoder's.
        structure_opposite_negated: Factor for a structure and a negated entity on opposite sides.
    """

    related: float = 0.7
    same_region: float = 0.15
    opposite_finding: float = 0.1
    partial_finding: float = 0.5
    other_zone_finding: float = 0.7
    missing_side: float = 0.9
    one_severity_step: float = 0.4
    two_severity_steps: float = 0.15
    missing_severity: float = 0.92
    partial_location: float = 0.45
    other_zone_location: float = 0.3
    missing_zone_location: float = 0.7
    location_same_side: float = 0.45
    location_without_side: float = 0.1
    partial_location_finding: float = 0.5
    max_finding_share: float = 0.25
    part_of_finding: float = 0.75
    part_opposite: float = 0.15
    part_one_severity_step: float = 0.5
    part_two_severity_steps: float = 0.2
    structure_of_finding: float = 0.6
    structure_same_side: float = 0.55
    max_unrelated_structure: float = 0.4
    structure_opposite_finding: float = 0.05
    side_without_structure: float = 0.8
    opposite_role: float = 0.15
    partial_role: float = 0.6
    other_zone_role: float = 0.75
    negated_same_finding: float = 0.35
    negated_other_finding: float = 0.15
    negated_without_finding: float = 0.5
    negated_finding_share: float = 0.3
    structure_opposite_negated: float = 0.3


DEFAULT_TARGETS = SimilarityTargets()


class NameAttributes(NamedTuple):
    """Attributes of n names, (n,) int64 each."""

    finding: Tensor
    """Index in `FINDING_KEYS`; its length if the name has no finding."""
    laterality: Tensor
    """Index in `LATERALITIES`."""
    zone: Tensor
    """Index of a zone; 0 if the name has none."""
    severity: Tensor
    """Index in `SEVERITIES`."""

    def select(self, rows: Tensor) -> NameAttributes:
        """Return the attributes of some names."""
        return NameAttributes(*(column[rows] for column in self))

    def contradictions(self) -> Contradictions:
        """Compare every pair of names."""
        side, zone, severity = (
            (column[:, None], column[None]) for column in (self.laterality, self.zone, self.severity)
        )
        both_sides = (side[0] > 0) & (side[1] > 0)
        bilateral = (side[0] == 3) | (side[1] == 3)
        both_severities = (severity[0] > 0) & (severity[1] > 0)
        return Contradictions(
            both_sides=both_sides,
            one_side=(side[0] > 0) != (side[1] > 0),
            opposite=both_sides & (side[0] != side[1]) & ~bilateral,
            partial=both_sides & (side[0] != side[1]) & bilateral,
            same_zone=zone[0] == zone[1],
            other_zone=(zone[0] > 0) & (zone[1] > 0) & (zone[0] != zone[1]),
            severity_steps=(severity[0] - severity[1]).abs() * both_severities,
            one_severity=(severity[0] > 0) != (severity[1] > 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradictions:
    """Comparison of every pair of n names, (n, n) bool each.

    Attributes:
        both_sides: Both have a side.
        one_side: Only one has a side.
        opposite: One is left, the other right.
        partial: One is left or right, the other bilateral.
        same_zone: Same zone, or none.
        other_zone: Both have a zone, and the zones differ.
        severity_steps: int64, number of steps between two severities; 0 if a name has none.
        one_severity: Only one has a severity.
    """

    both_sides: Tensor
    one_side: Tensor
    opposite: Tensor
    partial: Tensor
    same_zone: Tensor
    other_zone: Tensor
    severity_steps: Tensor
    one_severity: Tensor


def parse_names(names: Sequence[str]) -> NameAttributes:
    """Return finding, location and severity of names.

    >>> attributes = parse_names(["small left effusion", "on the right", "heart"])
    >>> attributes.laterality.tolist(), attributes.severity.tolist()
    ([1, 2, 0], [1, 0, 0])
    >>> (attributes.finding == len(FINDING_KEYS)).tolist()
    [False, True, True]
    """
    zones: dict[str, int] = {"": 0}
    rows = []
    for name in names:
        facts = parse_sentence(name).facts
        fact = facts[0] if len(facts) == 1 else None
        side, _, zone = ((fact.location if fact else None) or _parse_location(name) or "").partition(" ")
        severity = (fact.severity if fact else None) or first_severity(name) or ""
        has_side = side in LATERALITIES
        rows.append(
            [
                FINDING_KEYS.index(fact.finding) if fact else len(FINDING_KEYS),
                LATERALITIES.index(side) if has_side else 0,
                zones.setdefault(zone if has_side else side, len(zones)),
                SEVERITIES.index(severity),
            ]
        )
    table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
    return NameAttributes(*table.unbind(1))


def _parse_location(name: str) -> str | None:
    lower = name.lower()
    bare = " ".join(re.sub(r"\b(?:the|side|sided|in|on|at)\b", "", lower).split())
    words = set(re.findall(r"[a-z]+", lower))
    for phrase in (lower, bare):
        if phrase in LOCATION_WORDS:
            return str(LOCATION_WORDS[phrase])
    if len(sides := words & {"left", "right"}) == 1:
        return str(next(iter(sides)))
    return "bilateral" if words & {"both", "bilateral", "bilaterally", "bases", "apices"} else None


@lru_cache(4)
def finding_similarity(targets: SimilarityTargets = DEFAULT_TARGETS) -> Tensor:
    """Return (F + 1, F + 1) similarities of findings regardless of location and severity; 0 without a finding."""
    table = torch.zeros(len(FINDING_KEYS) + 1, len(FINDING_KEYS) + 1)
    for row, first in enumerate(FINDING_KEYS):
        for column, second in enumerate(FINDING_KEYS):
            if first == second:
                table[row, column] = 1.0
            elif is_related(first, second):
                table[row, column] = targets.related
            elif FINDINGS[first].region == FINDINGS[second].region:
                table[row, column] = targets.same_region
    return table


def target_similarity(attributes: NameAttributes, base: Tensor, targets: SimilarityTargets = DEFAULT_TARGETS) -> Tensor:
    """Return (n, n) target cosines of names.

    Two findings: the similarity of the findings, reduced if locations or severities differ. Two locations: by side and
    zone. A location and a finding: by side. All others ("heart", "enlarged"): the encoder's cosine, reduced if side or
    severity differ.

    Args:
        attributes: Attributes of n names.
        base: (n, n) cosines of the encoder, >= 0.
        targets: Target similarities.
    """
    pair, where = attributes.contradictions(), torch.where
    has_finding = attributes.finding < len(FINDING_KEYS)
    has_location = (attributes.laterality > 0) | (attributes.zone > 0)
    is_location = ~has_finding & has_location & (attributes.severity == 0)

    side_factor = where(pair.opposite, targets.opposite_finding, where(pair.partial, targets.partial_finding, 1.0))
    zone_factor = where(pair.other_zone, targets.other_zone_finding, where(pair.one_side, targets.missing_side, 1.0))
    severity_factor = where(pair.severity_steps == 1, targets.one_severity_step, 1.0)
    severity_factor = where(pair.severity_steps == 2, targets.two_severity_steps, severity_factor)
    severity_factor = severity_factor * where(pair.one_severity, targets.missing_severity, 1.0)

    kinship = finding_similarity(targets)[attributes.finding][:, attributes.finding]
    findings = kinship * (side_factor * zone_factor) * severity_factor
    locations = where(pair.same_zone, 1.0, targets.missing_zone_location)
    locations = where(pair.other_zone, targets.other_zone_location, locations)
    locations = where(pair.opposite, 0.0, where(pair.partial, targets.partial_location, locations))
    mixed = where(pair.both_sides, targets.location_same_side, targets.location_without_side)
    mixed = mixed * where(pair.opposite, 0.0, where(pair.partial, targets.partial_location_finding, 1.0))
    others = base * where(pair.opposite, targets.opposite_finding, 1.0) * severity_factor

    result = where(either_order(has_finding, is_location), mixed, others)
    result = where(is_location[:, None] & is_location[None], locations, result)
    return where(has_finding[:, None] & has_finding[None], findings, result)


def either_order(a: Tensor, b: Tensor) -> Tensor:
    """Return (n, n) bool: True if `a` holds for one entity of a pair and `b` for the other."""
    return (a[:, None] & b[None]) | (b[:, None] & a[None])
