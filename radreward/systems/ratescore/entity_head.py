"""A small head over embeddings of names, so that MiniLM separates left from right and recognizes synonyms."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.io.artifacts import load_into, load_tensors, save_tensors
from radreward.io.model_config import read_config, write_config
from radreward.systems.ratescore.role_similarity import ANATOMY, NEGATED, EntityAttributes, role_target_similarity
from radreward.systems.ratescore.target_similarity import DEFAULT_TARGETS, FINDING_KEYS, SimilarityTargets

EMBEDDED_HEAD = Path(__file__).with_name("embedded") / "head.safetensors"
HIDDEN_SIZE = 512
BATCH_SIZE = 384
"""Entities per step, including those of the next lines; the rest are random."""
FINDINGS_PER_BATCH, ENTITIES_PER_FINDING = 12, 16
"""Similar entities, which are hard to separate: so many of each of a few findings."""
ENTITIES_PER_ROLE = 48
"""Entities of each of the rarer roles."""


class EntityHead(nn.Module):
    """y = x + B·gelu(A·√d·x), scaled to unit length; the identity before training.

    Args:
        embedding_dim: Size of an embedding.
        hidden_size: Size of the hidden layer.

    >>> head = EntityHead(4, 8)
    >>> x = torch.nn.functional.normalize(torch.randn(3, 4), dim=1)
    >>> torch.allclose(head(x), x)
    True
    """

    def __init__(self, embedding_dim: int, hidden_size: int = HIDDEN_SIZE) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(embedding_dim, hidden_size), nn.Linear(hidden_size, embedding_dim)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, d) unit vectors to (n, d) unit vectors."""
        return F.normalize(x + self.outer(F.gelu(self.inner(x * x.shape[-1] ** 0.5))), dim=-1)

    def save(self, path: str | Path) -> None:
        """Write the weights as float16, and a JSON file of the same name with their SHA-256."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(path, self.state_dict(), torch.float16)
        write_config(path.with_suffix(".json"), {"format": 1}, (path.name,))

    @classmethod
    def load(cls, path: str | Path = EMBEDDED_HEAD) -> EntityHead:
        """Read a head that `save` wrote.

        Raises:
            InputError: If the file is missing or invalid.
        """
        read_config(Path(path).with_suffix(".json"), (), files=(Path(path).name,))
        state = {name: value.float() for name, value in load_tensors(path).items()}
        hidden_size, embedding_dim = state["inner.weight"].shape
        head = cls(embedding_dim, hidden_size)
        load_into(head, state)
        return head.eval().requires_grad_(False)


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
