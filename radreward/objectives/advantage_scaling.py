"""Scaling of advantages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn

from radreward.errors import check_choice
from radreward.objectives.functional.accuracy_rewards import round_half_up
from radreward.objectives.functional.advantages import difficulty_weight, majority_mask, mgas_scale
from radreward.types import ParsedCompletions


class AdvantageScaling(nn.Module, ABC):
    """Factors on advantages. Subclasses implement `forward` only."""

    @abstractmethod
    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """Return the (B, G) factors of the advantages, >= 0. Called once per batch of rollouts.

        Args:
            completions: Parsed completions.
            accuracy: (B, G) accuracy rewards in [0, 1]; NaN if unavailable.
        """


class NoScaling(AdvantageScaling):
    """Factors of 1."""

    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """Return (B, G) ones."""
        return torch.ones_like(accuracy)


class MajorityGuidedScaling(AdvantageScaling):
    """Majority-guided advantage scaling (MGAS of RadReason, Eq. 11-13).

    γ is the accuracy reward of the majority answer of a prompt, 0 if no answer is parsable. A completion is correct if
    its accuracy reward is at least its group's mean and it is well-formed; ψ is γ for a correct completion and 1 - γ
    for an incorrect one. The factor s(ψ) falls from φ⁺ at ψ = 0 to φ⁻ at ψ = 1: correct answers to hard prompts and
    errors on easy prompts are scaled up.

    Args:
        beta: Steepness of s (β); not published.
        c: Midpoint of s; not published.
        min_scale: Smallest factor (φ⁻).
        max_scale: Largest factor (φ⁺).
        variant: "logistic", or "as_published" for the printed equation clipped at φ⁺, see `mgas_scale`.

    Raises:
        ValueError: If a value is out of range.
    """

    def __init__(
        self,
        beta: float = 10.0,
        c: float = 0.5,
        min_scale: float = 0.8,
        max_scale: float = 1.2,
        variant: Literal["logistic", "as_published"] = "logistic",
    ) -> None:
        super().__init__()
        if not (math.isfinite(beta) and beta >= 0):
            raise ValueError(f"Expected `beta` to be finite and >= 0 but got {beta}.")
        if not 0 <= c <= 1:
            raise ValueError(f"Expected `c` to be in [0, 1] but got {c}.")
        if not (0 <= min_scale <= max_scale and math.isfinite(max_scale)):
            raise ValueError(f"Expected 0 <= `min_scale` <= `max_scale` but got {min_scale} and {max_scale}.")
        check_choice("variant", variant, ("logistic", "as_published"))
        self.beta = beta
        self.c = c
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.variant = variant

    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """Return (B, G) factors between `min_scale` and `max_scale`."""
        accuracy = accuracy.nan_to_num(0.0)
        majority = majority_mask(completions.error_counts).to(accuracy.dtype)
        gamma = (accuracy * majority).sum(1, keepdim=True) / majority.sum(1, keepdim=True).clamp_min(1)  # (B, 1)
        # The tolerance covers rounding: the mean of equal numbers may exceed them.
        correct = (accuracy >= accuracy.mean(1, keepdim=True) - 1e-6) & completions.well_formed
        psi = torch.where(correct, gamma, 1 - gamma)
        as_published = self.variant == "as_published"
        return mgas_scale(psi, self.beta, self.c, self.min_scale, self.max_scale, as_published)


class DifficultyScaling(AdvantageScaling):
    """Difficulty-aware scaling (GRPO-LEAD, Zhang and Zuo 2025, arXiv 2504.09696).

    A completion is correct if all its counts, rounded, equal the target. ρ is the share of correct completions of the
    prompt. The factor is w(ρ) for a correct completion and w(1 - ρ) for an incorrect one, see `difficulty_weight`:
    correct answers to hard prompts and errors on easy prompts are scaled up. The paper chooses by the sign of the
    advantage, which is the same for a binary reward.

    Args:
        min_weight: Lowest factor (A).
        max_weight: Highest factor (B).
        midpoint: ρ at which the factor is halfway (ρ0).
        steepness: Steepness (k).

    Raises:
        ValueError: If a value is out of range.
    """

    def __init__(
        self, min_weight: float = 0.4, max_weight: float = 1.5, midpoint: float = 0.75, steepness: float = 10.0
    ) -> None:
        super().__init__()
        if not (0 <= min_weight <= max_weight and math.isfinite(max_weight)):
            raise ValueError(f"Expected 0 <= `min_weight` <= `max_weight` but got {min_weight} and {max_weight}.")
        if not 0 <= midpoint <= 1:
            raise ValueError(f"Expected `midpoint` to be in [0, 1] but got {midpoint}.")
        if not (math.isfinite(steepness) and steepness >= 0):
            raise ValueError(f"Expected `steepness` to be finite and >= 0 but got {steepness}.")
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.midpoint = midpoint
        self.steepness = steepness

    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """Return (B, G) factors between `min_weight` and `max_weight`."""
        target = round_half_up(completions.target).unsqueeze(1)
        correct = (round_half_up(completions.error_counts) == target).all(-1)  # NaN equals nothing
        share = correct.to(accuracy.dtype).mean(1, keepdim=True)
        rate = torch.where(correct, share, 1 - share)
        return difficulty_weight(rate, self.min_weight, self.max_weight, self.midpoint, self.steepness)
