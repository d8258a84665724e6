"""A head over embeddings of names: with it MiniLM tells left from right and knows other words for a finding."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.errors import InputError
from radreward.systems.ratescore.role_similarity import ANATOMY, NEGATED, EntityAttributes, role_target_similarity
from radreward.systems.ratescore.target_similarity import FINDING_KEYS, finding_similarity

EMBEDDED_HEAD = Path(__file__).with_name("embedded") / "head.safetensors"
HIDDEN_SIZE = 512
BATCH_SIZE, FINDINGS_PER_BATCH, ENTITIES_PER_FINDING, ENTITIES_PER_ROLE = 384, 12, 16, 48
"""Entities of a step: at random, so many of each of a few findings, for near ones are hard to tell apart, and so many
of each of the rarer roles."""


class EntityHead(nn.Module):
    """y = x + B·gelu(A·√d·x), scaled to length 1; before training it changes nothing.

    Args:
        width: Numbers of an embedding.
        hidden: Numbers in between.

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
        """(n, width) unit vectors to (n, width) unit vectors."""
        return F.normalize(x + self.outer(F.gelu(self.inner(x * x.shape[-1] ** 0.5))), dim=-1)

    def save(self, path: str | Path) -> None:
        """Write the weights as float16."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_file({name: value.detach().half().contiguous() for name, value in self.state_dict().items()}, path)

    @classmethod
    def load(cls, path: str | Path = EMBEDDED_HEAD) -> EntityHead:
        """Read what `save` wrote.

        Raises:
            InputError: If there is no such file.
        """
        if not Path(path).is_file():
            raise InputError(f"{path}: Expected the weights of a head but there is no such file.")
        state = {name: value.float() for name, value in load_file(path).items()}
        hidden, width = state["inner.weight"].shape
        head = cls(width, hidden)
        head.load_state_dict(state)
        return head.eval().requires_grad_(False)


def fit_head(
    attributes: EntityAttributes, vectors: Tensor, steps: int = 1200, seed: int = 0, lr: float = 3e-3
) -> EntityHead:
    """A head whose cosines are those of `likeness_by_role`, by squared errors.

    Errors weigh more where entities shall be alike, and where the encoder takes what contradicts itself for the same.

    Args:
        known: What is known of n entities.
        vectors: (n, width) their embeddings, of length 1.
        steps: Of AdamW, with a learning rate that rises and falls once.
        seed: Decides everything.
        lr: The highest learning rate.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = EntityHead(vectors.shape[1])
    alike, finding = finding_similarity(), attributes.name_attributes.finding
    groups = [rows for key in range(len(FINDING_KEYS)) if len(rows := (finding == key).nonzero().flatten())]
    roles = [rows for role in (ANATOMY, NEGATED) if len(rows := (attributes.role == role).nonzero().flatten())]
    optimizer = torch.optim.AdamW(head.parameters(), lr=lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps)
    for _ in range(steps):
        chosen = torch.randint(len(groups), (FINDINGS_PER_BATCH,), generator=draw).tolist() if groups else []
        near = [_sample_rows(groups[key], ENTITIES_PER_FINDING, draw) for key in chosen] + [
            _sample_rows(rows, ENTITIES_PER_ROLE, draw) for rows in roles
        ]
        rows = torch.cat([torch.randint(len(vectors), (BATCH_SIZE - sum(map(len, near)),), generator=draw), *near])
        x = vectors[rows]
        base = (x @ x.T).clamp_min(0)
        wanted = role_target_similarity(attributes.select(rows), base, alike)
        y = head(x)
        weight = 1 + 4 * (wanted > 0.3).float() + 8 * ((base > 0.55) & (wanted < base - 0.2)).float()
        loss = (weight * (y @ y.T - wanted) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return head.eval().requires_grad_(False)


def _sample_rows(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return rows[torch.randint(len(rows), (count,), generator=generator)]
