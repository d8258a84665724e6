"""What a completion is rewarded for: one method from completions, as they were read, to numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from torch import Tensor, nn

from radreward.objectives.functional import policy as functional
from radreward.types import ParsedCompletions


class RewardFunction(nn.Module, ABC):
    """A reward of completions. Subclasses implement `forward`, and nothing else.

    Args:
        weight: How much it counts beside other rewards, >= 0.

    Raises:
        ValueError: If `weight` is negative or not finite.

    >>> import torch
    >>> class Short(RewardFunction):
    ...     def forward(self, completions):
    ...         return torch.tensor([[float(len(text) < 5) for text in group] for group in completions.texts])
    >>> no = torch.zeros(1, 2, 1)
    >>> Short(weight=0.5)(Completions(no, no[0], no[..., 0], no, (("a", "a long one"),), (("", ""),)))
    tensor([[1., 0.]])
    """

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"Expected `weight` to be finite and >= 0 but got {weight}.")
        self.weight = weight

    @abstractmethod
    def forward(self, completions: ParsedCompletions) -> Tensor:
        """(B, G) rewards, or (B, G, N) by criterion, of which the objective's weighting takes the mean.

        Called once for every batch of rollouts, before the first update on it. NaN for a completion that cannot be
        judged: it is left out of its group, counted and told. What cannot be read in a completion is worth nothing,
        so it is 0. An exception ends the training with the name of this class.
        """

    if TYPE_CHECKING:

        def __call__(self, completions: ParsedCompletions) -> Tensor:
            """As `forward`."""


class GaussianAccuracy(RewardFunction):
    """How near each sub-score is to the known one, exp(-d² / (2 σ²)) (RadReason, Eq. 5); 0 where it is unreadable.

    Args:
        sigma: σ, the difference d at which the reward has fallen to 0.607.
        weight: How much it counts beside other rewards.

    Raises:
        ValueError: If `sigma` is not positive, or `weight` is out of its range.
    """

    def __init__(self, sigma: float = 0.5, weight: float = 1.0) -> None:
        super().__init__(weight)
        if not (math.isfinite(sigma) and sigma > 0):
            raise ValueError(f"Expected `sigma` to be finite and > 0 but got {sigma}.")
        self.sigma = sigma

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """(B, G, N) in [0, 1]."""
        return functional.gaussian_accuracy(completions.error_counts, completions.target.unsqueeze(1), self.sigma)


class BinaryAccuracy(RewardFunction):
    """Whether each sub-score, rounded, is the known one: what the Gaussian reward is compared with."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """(B, G, N) of 0 and 1."""
        return functional.binary_accuracy(completions.error_counts, completions.target.unsqueeze(1))


class FormatReward(RewardFunction):
    """Whether the completion has the form that was asked for: the reasoning, and one number for every criterion."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """(B, G) of 0 and 1."""
        return completions.well_formed.to(completions.error_counts.dtype)


class ReasoningReward(RewardFunction):
    """The share of the criteria that the reasoning speaks of."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        """(B, G) in [0, 1]."""
        return completions.mentioned.to(completions.error_counts.dtype).mean(-1)
