"""A small head over the embeddings of names, which separates left from right and joins synonyms."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.io.artifacts import load_into, load_tensors, save_tensors
from radreward.io.model_config import read_config, write_config

EMBEDDED_HEAD = Path(__file__).with_name("embedded") / "head.safetensors"


class EntityHead(nn.Module):
    """y = x + B·gelu(A·√d·x), scaled to unit length. Before training, this is the identity.

    Args:
        embedding_dim: Size of an embedding.
        hidden_size: Size of the hidden layer.

    >>> head = EntityHead(4, 8)
    >>> x = torch.nn.functional.normalize(torch.randn(3, 4), dim=1)
    >>> torch.allclose(head(x), x)
    True
    """

    def __init__(self, embedding_dim: int, hidden_size: int = 512) -> None:
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
        write_config(path.with_suffix(".json"), {}, (path.name,))

    @classmethod
    def load(cls, path: str | Path = EMBEDDED_HEAD) -> EntityHead:
        """Load a head that `save` wrote.

        Raises:
            InputError: If the file is missing or invalid.
        """
        read_config(Path(path).with_suffix(".json"), (), files=(Path(path).name,))
        state = {name: value.float() for name, value in load_tensors(path).items()}
        hidden_size, embedding_dim = state["inner.weight"].shape
        head = cls(embedding_dim, hidden_size)
        load_into(head, state)
        return head.eval().requires_grad_(False)
