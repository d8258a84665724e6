"""How alike entities should be by the role they play: structures, findings that are there, and what is denied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.systems.ratescore.target_similarity import (
    FINDING_KEYS,
    NameAttributes,
    finding_similarity,
    parse_names,
    target_similarity,
)
from radreward.types import Entity

PRESENT, ANATOMY, NEGATED = 0, 1, 2
COMMON = 0.25
"""What is said of more findings than this share is a part of none."""
PART, PART_OF_PLACE, SAME_SIDE, STRANGERS = 0.75, 0.6, 0.55, 0.4
"""Likeness of "enlarged" and "cardiomegaly", of "heart" and "cardiomegaly", of "left" and "left effusion"; the most
that any other structure and finding may have."""
DENIED_SAME, DENIED_OTHER = 0.35, 0.15
"""Of a finding and its denial, and of a finding and the denial of another."""


class EntityAttributes(NamedTuple):
    """What is known of n entities."""

    name_attributes: NameAttributes
    role: Tensor
    """(n,) int64: present, anatomy, denied."""
    part_of_findings: Tensor
    """(n, F + 1) bool: of which findings it is said though it names none."""
    is_location_only: Tensor
    """(n,) bool: names a place and nothing else."""

    def select(self, rows: Tensor) -> EntityAttributes:
        """Those of some entities."""
        return EntityAttributes(
            self.name_attributes.select(rows), self.role[rows], self.part_of_findings[rows], self.is_location_only[rows]
        )


def entity_role(entity: Entity) -> int:
    """Present, anatomy or denied, by the type."""
    return ANATOMY if entity.type == "Anatomy" else NEGATED if entity.type.startswith("Non-") else PRESENT


def entity_attributes(entities: Sequence[Entity], findings_in_context: Sequence[frozenset[str]]) -> EntityAttributes:
    """What is known of entities.

    Args:
        entities: n entities.
        said_of: Of each, the findings in whose sentences it stands.
    """
    read = parse_names([entity.name for entity in entities])
    roles = torch.tensor([entity_role(entity) for entity in entities], dtype=torch.int64)
    part = torch.tensor(
        [[key in keys for key in FINDING_KEYS] + [False] for keys in findings_in_context], dtype=torch.bool
    )
    none = read.finding == len(FINDING_KEYS)
    spot = none & ((read.laterality > 0) | (read.zone > 0)) & (read.severity == 0) & (roles == ANATOMY)
    return EntityAttributes(
        read, roles, part & (none & ~spot & (part.sum(1) <= COMMON * len(FINDING_KEYS)))[:, None], spot
    )


def role_target_similarity(
    attributes: EntityAttributes, base: Tensor, finding_similarities: Tensor | None = None
) -> Tensor:
    """(n, n) cosines that entities should have: findings that are there as of `likeness`, all others as below.

    Structures, and what is denied, as the encoder has them unless sides, zones or findings differ. A structure and a
    finding are strangers unless the one is said of the other or their sides agree. A finding and a denial are far.

    Args:
        entities: Of n entities.
        base: (n, n) cosines by the encoder, >= 0.
        alike: As of `findings_alike`.
    """
    finding_similarities = finding_similarity() if finding_similarities is None else finding_similarities
    read = attributes.name_attributes
    side, zone, degree = ((column[:, None], column[None]) for column in (read.laterality, read.zone, read.severity))
    said, half = (side[0] > 0) & (side[1] > 0), (side[0] == 3) | (side[1] == 3)
    opposed, partly = said & (side[0] != side[1]) & ~half, said & (side[0] != side[1]) & half
    zones = (zone[0] > 0) & (zone[1] > 0) & (zone[0] != zone[1])
    gap = (degree[0] - degree[1]).abs() * ((degree[0] > 0) & (degree[1] > 0))
    place = _factor(opposed, 0.15) * _factor(partly, 0.6) * _factor(zones, 0.75)
    finding = read.finding < len(FINDING_KEYS)
    both, either = finding[:, None] & finding[None], finding[:, None] | finding[None]
    kin = finding_similarities[read.finding][:, read.finding]
    there, structure, denied = ((attributes.role == role) for role in (PRESENT, ANATOMY, NEGATED))
    part = attributes.part_of_findings[:, read.finding]
    part = part | part.T
    bare = _either_order(
        structure & attributes.is_location_only & (read.laterality > 0), structure & ~attributes.is_location_only
    )
    amount = _factor(gap == 1, 0.5) * _factor(gap == 2, 0.2)
    near = torch.where(said & ~opposed & either, torch.tensor(SAME_SIDE), base.clamp_max(STRANGERS))
    crossed = torch.where(part, torch.tensor(PART_OF_PLACE), near) * _factor(opposed, 0.05)
    against = torch.where(both, torch.where(kin > 0.9, DENIED_SAME, DENIED_OTHER), 0.5 * base) * place
    wanted = torch.where(
        _either_order(there, there) & part,
        PART * amount * _factor(opposed, 0.15),
        target_similarity(read, base, finding_similarities),
    )
    for one, other, value in (
        (structure, structure, base * place * _factor(bare, 0.8)),
        (structure, there, crossed),
        (denied, denied, torch.where(both, 0.3 * kin + 0.7 * base, base) * place),
        (there, denied, against),
        (structure, denied, base * _factor(opposed, 0.3)),
    ):
        wanted = torch.where(_either_order(one, other), value, wanted)
    return wanted.fill_diagonal_(1.0)


def _either_order(one: Tensor, other: Tensor) -> Tensor:
    return (one[:, None] & other[None]) | (other[:, None] & one[None])


def _factor(where: Tensor, value: float) -> Tensor:
    return torch.where(where, value, 1.0)
