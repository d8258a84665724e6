"""Reward functions: from parsed completions to numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from torch import Tensor, nn

from radreward.objectives.functional.accuracy_rewards import binary_accuracy, gaussian_accuracy
from radreward.types import ParsedCompletions


class RewardFunction(nn.Module, ABC):
    """A reward of completions. Subclasses implement `forward` only.

    Args:
        weight: Weight in the sum of rewards, >= 0; a reward of weight 0 is only logged.

    Raises:
        ValueError: If `weight` is negative or not finite.

    >>> import torch
    >>> from radreward.testing import make_completions
    >>> class Short(RewardFunction):
    ...     def forward(self, completions):
    ...         return torch.tensor([[float(len(text) < 5) for text in group] for group in completions.texts])
    >>> Short(weight=0.5)(make_completions(num_prompts=1, group_size=2))
    tensor([[0., 0.]])
    """

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"Expected `weight` to be finite and >= 0 but got {weight}.")
        self.weight = weight

    @abstractmethod
    def forward(self, completions: ParsedCompletions) -> Tensor:
        """Return (B, G) rewards, or (B, G, N) rewards per criterion to be averaged by the objective's weighting.

        Called once per rollout batch, before the first update on it. Return 0 for content that cannot be parsed. A
        completion with NaN is left out of its group and counted in the logs. An exception stops the training with a
        message that names the class.
        """

    if TYPE_CHECKING:

        def __call__(self, completions: ParsedCompletions) -> Tensor:
            """Call `forward`."""


class GaussianAccuracy(RewardFunction):
    """Gaussian accuracy per criterion, exp(-d² / (2 σ²)) of the deviation d (RadReason, Eq. 5); 0 if unparsable.

    Args:
        sigma: Deviation at which the reward has fallen to 0.607 (σ).
        weight: Weight in the sum of rewards.

    Raises:
        ValueError: If `sigma` is not finite and > 0, or `weight` is out of range.
    """

    def __init__(self, sigma: float = 0.5, weight: float = 1.0) -> None:
        super().__init__(weight)
        if not (math.isfinite(sigma) and sigma > 0):
            raise ValueError(f"Expected `sigma` to be finite and > 0 but got {sigma}.")
        self.sigma = sigma

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """Return (B, G, N) rewards in [0, 1]."""
        return gaussian_accuracy(completions.error_counts, completions.target.unsqueeze(1), self.sigma)


class BinaryAccuracy(RewardFunction):
    """Exact match per criterion, after rounding: the baseline of the Gaussian accuracy."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """Return (B, G, N) rewards of 0 and 1."""
        return binary_accuracy(completions.error_counts, completions.target.unsqueeze(1))


class FormatReward(RewardFunction):
    """1 for a completion in the requested format: the reasoning, and one number per criterion."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """Return (B, G) rewards of 0 and 1."""
        return completions.well_formed.to(completions.error_counts.dtype)


class ReasoningReward(RewardFunction):
    """Fraction of the criteria that the reasoning mentions."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """Return (B, G) rewards in [0, 1]."""
        return completions.mentioned.to(completions.error_counts.dtype).mean(-1)
