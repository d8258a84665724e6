"""Advantages of the completions of a prompt from their rewards."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from radreward.objectives.functional.advantages import centered_rewards, group_advantages


class AdvantageEstimator(nn.Module, ABC):
    """Advantages from rewards. Subclasses implement `forward` only."""

    @abstractmethod
    def forward(self, rewards: Tensor) -> Tensor:
        """Return (B, G) advantages of (B, G) finite rewards, G >= 2. Called once per batch of rollouts.

        Equal rewards must get advantages of exactly 0.
        """


class StandardizedAdvantage(AdvantageEstimator):
    """Deviation from the group's mean in standard deviations, (r - mean r) / (std r + ε).

    Shao et al. (2024), "DeepSeekMath", section 4.1.2; see `group_advantages`.
    """

    def forward(self, rewards: Tensor) -> Tensor:
        """Return (B, G) advantages, of mean 0 in each group."""
        return group_advantages(rewards)


class CenteredAdvantage(AdvantageEstimator):
    """Deviation from the group's mean, r - mean r.

    Liu et al. (2025), "Understanding R1-Zero-Like Training" (Dr. GRPO): the division by the standard deviation gives
    prompts with nearly equal rewards too much weight.
    """

    def forward(self, rewards: Tensor) -> Tensor:
        """Return (B, G) advantages, of mean 0 in each group."""
        return centered_rewards(rewards, rewards.mean(1, keepdim=True))


class MedianAdvantage(AdvantageEstimator):
    """Deviation from the group's median in standard deviations, (r - median r) / (std r + ε).

    Kim (2026), "MC-GRPO": one outlier cannot flip the sign of the other advantages. The paper divides by the median
    absolute deviation instead, which is 0 if more than half of the rewards are equal.
    """

    def forward(self, rewards: Tensor) -> Tensor:
        """Return (B, G) advantages, of median 0 in each group."""
        # quantile averages the two middle rewards of an even group; Tensor.median returns the lower one.
        return group_advantages(rewards, baseline=rewards.double().quantile(0.5, 1, keepdim=True).to(rewards.dtype))
