"""Reward head: one reward per criterion from one vector per candidate."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from radreward.criteria import Criteria


class MultiRewardHead(nn.Module):
    """Linear or two-layer head in float32, whatever the backbone's dtype.

    reward_j = weight_j · (W₂ gelu(W₁ x))_j, or weight_j · (W x)_j without a hidden layer. The layers predict in units
    of errors, so that criteria of weights 30 and 0.25 learn at the same speed.

    Args:
        input_size: Size of the vectors.
        criteria: One output per criterion.
        hidden_size: Size of the hidden layer; 0 for none.

    >>> import torch
    >>> from radreward.criteria import RadCliQCriteria
    >>> MultiRewardHead(8, RadCliQCriteria())(torch.zeros(2, 8)).shape
    torch.Size([2, 6])
    """

    scale: Tensor

    def __init__(self, input_size: int, criteria: Criteria, hidden_size: int = 0) -> None:
        super().__init__()
        if hidden_size < 0:
            raise ValueError(f"Expected `hidden_size` to be >= 0 but got {hidden_size}.")
        self.inner = nn.Linear(input_size, hidden_size) if hidden_size else None
        self.out = nn.Linear(hidden_size or input_size, len(criteria))
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)
        self.register_buffer("scale", criteria.weights, persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Map (C, input_size) vectors to (C, N) float32 rewards."""
        features = features.to(self.out.weight.dtype)
        if self.inner is not None:
            features = F.gelu(self.inner(features))
        rewards: Tensor = self.out(features) * self.scale
        return rewards
