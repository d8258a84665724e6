"""Training of the head over embeddings of names, toward the target similarities of entities."""

from __future__ import annotations

import torch
from torch import Tensor

from experiments.ratescore.role_similarity import ANATOMY, NEGATED, EntityAttributes, role_target_similarity
from experiments.ratescore.target_similarity import DEFAULT_TARGETS, FINDING_KEYS, SimilarityTargets
from radreward.systems.ratescore.entity_head import EntityHead

BATCH_SIZE = 384
"""Entities per step, including those of the next lines; the rest are random."""
FINDINGS_PER_BATCH, ENTITIES_PER_FINDING = 12, 16
"""Similar entities, which are hard to separate: so many of each of a few findings."""
ENTITIES_PER_ROLE = 48
"""Entities of each of the rarer roles."""


def fit_head(
    attributes: EntityAttributes,
    vectors: Tensor,
    steps: int = 1200,
    seed: int = 0,
    lr: float = 3e-3,
    targets: SimilarityTargets = DEFAULT_TARGETS,
) -> EntityHead:
    """Train a head whose cosines approximate `role_target_similarity`, by squared errors.

    Errors weigh more for similar entities, and for contradictory entities that the encoder takes for the same.

    Args:
        attributes: Attributes of n entities.
        vectors: (n, d) unit-length embeddings of the entities.
        steps: Steps of AdamW with a one-cycle learning rate.
        seed: Seed of initialization and batches.
        lr: Maximum learning rate.
        targets: Target similarities.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = EntityHead(vectors.shape[1])
    finding = attributes.name_attributes.finding
    findings = [rows for key in range(len(FINDING_KEYS)) if len(rows := (finding == key).nonzero().flatten())]
    roles = [rows for role in (ANATOMY, NEGATED) if len(rows := (attributes.role == role).nonzero().flatten())]
    optimizer = torch.optim.AdamW(head.parameters(), lr=lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps)
    for _ in range(steps):
        keys = torch.randint(len(findings), (FINDINGS_PER_BATCH,), generator=generator).tolist() if findings else []
        chosen = [_sample_rows(findings[key], ENTITIES_PER_FINDING, generator) for key in keys]
        chosen += [_sample_rows(rows, ENTITIES_PER_ROLE, generator) for rows in roles]
        n_random = BATCH_SIZE - sum(map(len, chosen))
        rows = torch.cat([torch.randint(len(vectors), (n_random,), generator=generator), *chosen])
        x = vectors[rows]
        base = (x @ x.T).clamp_min(0)
        target = role_target_similarity(attributes.select(rows), base, targets)
        y = head(x)
        weight = 1 + 4 * (target > 0.3).float() + 8 * ((base > 0.55) & (target < base - 0.2)).float()
        loss = (weight * (y @ y.T - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return head.eval().requires_grad_(False)


def _sample_rows(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return rows[torch.randint(len(rows), (count,), generator=generator)]
