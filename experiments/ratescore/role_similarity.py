"""Target similarity of entities by their role: anatomical structures, present findings and negated findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from experiments.ratescore.target_similarity import (
    DEFAULT_TARGETS,
    FINDING_KEYS,
    NameAttributes,
    SimilarityTargets,
    either_order,
    finding_similarity,
    parse_names,
    target_similarity,
)
from radreward.types import Entity

PRESENT, ANATOMY, NEGATED = 0, 1, 2


class EntityAttributes(NamedTuple):
    """Attributes of n entities."""

    name_attributes: NameAttributes
    role: Tensor
    """(n,) int64: PRESENT, ANATOMY or NEGATED."""
    part_of_findings: Tensor
    """(n, F + 1) bool: findings that the entity describes without naming them."""
    is_location_only: Tensor
    """(n,) bool: True for the name of a location and nothing else."""

    def select(self, rows: Tensor) -> EntityAttributes:
        """Return the attributes of some entities."""
        return EntityAttributes(
            self.name_attributes.select(rows), self.role[rows], self.part_of_findings[rows], self.is_location_only[rows]
        )


def entity_role(entity: Entity) -> int:
    """Return PRESENT, ANATOMY or NEGATED, by the type of the entity."""
    return ANATOMY if entity.type == "Anatomy" else NEGATED if entity.type.startswith("Non-") else PRESENT


def entity_attributes(
    entities: Sequence[Entity],
    findings_in_context: Sequence[frozenset[str]],
    targets: SimilarityTargets = DEFAULT_TARGETS,
) -> EntityAttributes:
    """Return the attributes of entities.

    Args:
        entities: n entities.
        findings_in_context: For each entity, the findings of the sentences that contain it.
        targets: Target similarities; the maximum share of findings is used here.
    """
    names = parse_names([entity.name for entity in entities])
    roles = torch.tensor([entity_role(entity) for entity in entities], dtype=torch.int64)
    in_context = torch.tensor(
        [[key in keys for key in FINDING_KEYS] + [False] for keys in findings_in_context], dtype=torch.bool
    )
    no_finding = names.finding == len(FINDING_KEYS)
    has_location = (names.laterality > 0) | (names.zone > 0)
    location_only = no_finding & has_location & (names.severity == 0) & (roles == ANATOMY)
    specific = in_context.sum(1) <= targets.max_finding_share * len(FINDING_KEYS)
    part_of_findings = in_context & (no_finding & ~location_only & specific)[:, None]
    return EntityAttributes(names, roles, part_of_findings, location_only)


def role_target_similarity(
    attributes: EntityAttributes, base: Tensor, targets: SimilarityTargets = DEFAULT_TARGETS
) -> Tensor:
    """Return (n, n) target cosines of entities: of present findings by `target_similarity`, of others as follows.

    Two structures, or two negated entities: the encoder's cosine, reduced if sides, zones or findings differ. A
    structure and a finding: low, unless the structure belongs to the finding or their sides agree. A finding and a
    negated entity: low.

    Args:
        attributes: Attributes of n entities.
        base: (n, n) cosines of the encoder, >= 0.
        targets: Target similarities.
    """
    names, where = attributes.name_attributes, torch.where
    pair = names.contradictions()
    present, structure, negated = ((attributes.role == role) for role in (PRESENT, ANATOMY, NEGATED))
    has_finding = names.finding < len(FINDING_KEYS)
    both_findings = has_finding[:, None] & has_finding[None]
    any_finding = has_finding[:, None] | has_finding[None]
    kinship = finding_similarity(targets)[names.finding][:, names.finding]
    part = attributes.part_of_findings[:, names.finding]
    part = part | part.T
    location_factor = (
        where(pair.opposite, targets.opposite_role, 1.0)
        * where(pair.partial, targets.partial_role, 1.0)
        * where(pair.other_zone, targets.other_zone_role, 1.0)
    )

    parts = (
        targets.part_of_finding
        * where(pair.severity_steps == 1, targets.part_one_severity_step, 1.0)
        * where(pair.severity_steps == 2, targets.part_two_severity_steps, 1.0)
        * where(pair.opposite, targets.part_opposite, 1.0)
    )
    side_only = attributes.is_location_only & (names.laterality > 0)
    side_and_structure = either_order(structure & side_only, structure & ~attributes.is_location_only)
    structures = base * location_factor * where(side_and_structure, targets.side_without_structure, 1.0)
    same_side = pair.both_sides & ~pair.opposite & any_finding
    structure_finding = where(same_side, targets.structure_same_side, base.clamp_max(targets.max_unrelated_structure))
    structure_finding = where(part, targets.structure_of_finding, structure_finding)
    structure_finding = structure_finding * where(pair.opposite, targets.structure_opposite_finding, 1.0)
    share = targets.negated_finding_share
    both_negated = where(both_findings, share * kinship + (1 - share) * base, base) * location_factor
    opposed = where(kinship > 0.9, targets.negated_same_finding, targets.negated_other_finding)
    opposed = where(both_findings, opposed, targets.negated_without_finding * base) * location_factor
    structure_negated = base * where(pair.opposite, targets.structure_opposite_negated, 1.0)

    result = where(either_order(present, present) & part, parts, target_similarity(names, base, targets))
    for a, b, value in (
        (structure, structure, structures),
        (structure, present, structure_finding),
        (negated, negated, both_negated),
        (present, negated, opposed),
        (structure, negated, structure_negated),
    ):
        result = where(either_order(a, b), value, result)
    return result.fill_diagonal_(1.0)
