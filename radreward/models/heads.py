"""Heads: rewards and finding weights from one vector per candidate."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from radreward.criteria import Criteria


class FeatureHead(nn.Module):
    """Linear or two-layer map of one vector per candidate, in float32 whatever the backbone's dtype.

    y = W₂ gelu(W₁ x), or W x without a hidden layer.

    Args:
        input_size: Size of the vectors.
        output_size: Number of outputs.
        hidden_size: Size of the hidden layer; 0 for none.
    """

    def __init__(self, input_size: int, output_size: int, hidden_size: int = 0) -> None:
        super().__init__()
        if hidden_size < 0:
            raise ValueError(f"Expected `hidden_size` to be >= 0 but got {hidden_size}.")
        self.inner = nn.Linear(input_size, hidden_size) if hidden_size else None
        self.out = nn.Linear(hidden_size or input_size, output_size)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Map (C, input_size) vectors to (C, output_size) float32."""
        features = features.to(self.out.weight.dtype)
        if self.inner is not None:
            features = F.gelu(self.inner(features))
        values: Tensor = self.out(features)
        return values


class MultiRewardHead(FeatureHead):
    """One reward per criterion.

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
        super().__init__(input_size, len(criteria), hidden_size)
        self.register_buffer("scale", criteria.weights, persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Map (C, input_size) vectors to (C, N) float32 rewards."""
        return super().forward(features) * self.scale
