"""How alike entities should be by the role they play: structures, findings that are there, and what is denied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.systems.ratescore.target_similarity import KEYS, Features, features, findings_alike, likeness
from radreward.types import Entity

PRESENT, ANATOMY, DENIED = 0, 1, 2
COMMON = 0.25
"""What is said of more findings than this share is a part of none."""
PART, PART_OF_PLACE, SAME_SIDE, STRANGERS = 0.75, 0.6, 0.55, 0.4
"""Likeness of "enlarged" and "cardiomegaly", of "heart" and "cardiomegaly", of "left" and "left effusion"; the most
that any other structure and finding may have."""
DENIED_SAME, DENIED_OTHER = 0.35, 0.15
"""Of a finding and its denial, and of a finding and the denial of another."""


class Known(NamedTuple):
    """What is known of n entities."""

    features: Features
    role: Tensor
    """(n,) int64: present, anatomy, denied."""
    part: Tensor
    """(n, F + 1) bool: of which findings it is said though it names none."""
    spot: Tensor
    """(n,) bool: names a place and nothing else."""

    def take(self, rows: Tensor) -> Known:
        """Those of some entities."""
        return Known(self.features.take(rows), self.role[rows], self.part[rows], self.spot[rows])


def role(entity: Entity) -> int:
    """Present, anatomy or denied, by the type."""
    return ANATOMY if entity.type == "Anatomy" else DENIED if entity.type.startswith("Non-") else PRESENT


def known(entities: Sequence[Entity], said_of: Sequence[frozenset[str]]) -> Known:
    """What is known of entities.

    Args:
        entities: n entities.
        said_of: Of each, the findings in whose sentences it stands.
    """
    read = features([entity.name for entity in entities])
    roles = torch.tensor([role(entity) for entity in entities], dtype=torch.int64)
    part = torch.tensor([[key in keys for key in KEYS] + [False] for keys in said_of], dtype=torch.bool)
    none = read.finding == len(KEYS)
    spot = none & ((read.side > 0) | (read.zone > 0)) & (read.degree == 0) & (roles == ANATOMY)
    return Known(read, roles, part & (none & ~spot & (part.sum(1) <= COMMON * len(KEYS)))[:, None], spot)


def likeness_by_role(entities: Known, base: Tensor, alike: Tensor | None = None) -> Tensor:
    """(n, n) cosines that entities should have: findings that are there as of `likeness`, all others as below.

    Structures, and what is denied, as the encoder has them unless sides, zones or findings differ. A structure and a
    finding are strangers unless the one is said of the other or their sides agree. A finding and a denial are far.

    Args:
        entities: Of n entities.
        base: (n, n) cosines by the encoder, >= 0.
        alike: As of `findings_alike`.
    """
    alike = findings_alike() if alike is None else alike
    read = entities.features
    side, zone, degree = ((column[:, None], column[None]) for column in (read.side, read.zone, read.degree))
    said, half = (side[0] > 0) & (side[1] > 0), (side[0] == 3) | (side[1] == 3)
    opposed, partly = said & (side[0] != side[1]) & ~half, said & (side[0] != side[1]) & half
    zones = (zone[0] > 0) & (zone[1] > 0) & (zone[0] != zone[1])
    gap = (degree[0] - degree[1]).abs() * ((degree[0] > 0) & (degree[1] > 0))
    place = _one(opposed, 0.15) * _one(partly, 0.6) * _one(zones, 0.75)
    finding = read.finding < len(KEYS)
    both, either = finding[:, None] & finding[None], finding[:, None] | finding[None]
    kin = alike[read.finding][:, read.finding]
    there, structure, denied = ((entities.role == role) for role in (PRESENT, ANATOMY, DENIED))
    part = entities.part[:, read.finding]
    part = part | part.T
    bare = _pair(structure & entities.spot & (read.side > 0), structure & ~entities.spot)
    amount = _one(gap == 1, 0.5) * _one(gap == 2, 0.2)
    near = torch.where(said & ~opposed & either, torch.tensor(SAME_SIDE), base.clamp_max(STRANGERS))
    crossed = torch.where(part, torch.tensor(PART_OF_PLACE), near) * _one(opposed, 0.05)
    against = torch.where(both, torch.where(kin > 0.9, DENIED_SAME, DENIED_OTHER), 0.5 * base) * place
    wanted = torch.where(_pair(there, there) & part, PART * amount * _one(opposed, 0.15), likeness(read, base, alike))
    for one, other, value in (
        (structure, structure, base * place * _one(bare, 0.8)),
        (structure, there, crossed),
        (denied, denied, torch.where(both, 0.3 * kin + 0.7 * base, base) * place),
        (there, denied, against),
        (structure, denied, base * _one(opposed, 0.3)),
    ):
        wanted = torch.where(_pair(one, other), value, wanted)
    return wanted.fill_diagonal_(1.0)


def _pair(one: Tensor, other: Tensor) -> Tensor:
    return (one[:, None] & other[None]) | (other[:, None] & one[None])


def _one(where: Tensor, value: float) -> Tensor:
    return torch.where(where, value, 1.0)
