"""By how much each advantage counts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from radreward.objectives.functional import policy as functional
from radreward.types import ParsedCompletions


class AdvantageScaling(nn.Module, ABC):
    """Factors on advantages. Subclasses implement `forward`, and nothing else."""

    @abstractmethod
    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """(B, G) factors >= 0; called once for every batch of rollouts.

        Args:
            completions: The completions as they were read.
            accuracy: (B, G) the accuracy reward of each, in [0, 1]; NaN where there is none.
        """

    if TYPE_CHECKING:

        def __call__(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
            """As `forward`."""


class NoScaling(AdvantageScaling):
    """Every advantage as it is."""

    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """(B, G) ones."""
        return torch.ones_like(accuracy)


class MajorityGuidedScaling(AdvantageScaling):
    """Majority-guided advantage scaling (MGAS of RadReason, Eq. 11-13): what most of a group get right counts less.

    γ is the accuracy reward of the answer that most completions of a prompt give, 0 where none can be read. A
    completion is correct when its accuracy reward is at least the mean of its group's and its form is valid; ψ is γ
    for a correct completion and 1 - γ for another. The factor s(ψ) falls from φ⁺ at ψ = 0 to φ⁻ at ψ = 1: a right
    answer to a hard prompt and an error on an easy one are scaled up.

    Args:
        beta: β, how sharply s falls; not published.
        c: Where it is half way; not published.
        low: φ⁻, the least factor.
        high: φ⁺, the largest.
        form: "logistic", or "printed": the equation as it stands in the paper, cut off at φ⁺.

    Raises:
        ValueError: If a value is out of its range.
    """

    def __init__(
        self,
        beta: float = 10.0,
        c: float = 0.5,
        min_scale: float = 0.8,
        max_scale: float = 1.2,
        variant: Literal["logistic", "printed"] = "logistic",
    ) -> None:
        super().__init__()
        if not (math.isfinite(beta) and beta >= 0):
            raise ValueError(f"Expected `beta` to be finite and >= 0 but got {beta}.")
        if not 0 <= c <= 1:
            raise ValueError(f"Expected `c` to be in [0, 1] but got {c}.")
        if not (0 <= min_scale <= max_scale and math.isfinite(max_scale)):
            raise ValueError(f"Expected 0 <= `low` <= `high` but got {min_scale} and {max_scale}.")
        if variant not in ("logistic", "printed"):
            raise ValueError(f"Expected `form` to be logistic or printed but got {variant!r}.")
        self.beta, self.c, self.min_scale, self.max_scale, self.variant = beta, c, min_scale, max_scale, variant

    def forward(self, completions: ParsedCompletions, accuracy: Tensor) -> Tensor:
        """(B, G) between `low` and `high`."""
        given = accuracy.nan_to_num(0.0)
        chosen = functional.majority_mask(completions.error_counts).to(given.dtype)
        gamma = (given * chosen).sum(1, keepdim=True) / chosen.sum(1, keepdim=True).clamp_min(1)  # (B, 1)
        # A mean of equal numbers may come out above them.
        correct = (given >= given.mean(1, keepdim=True) - 1e-6) & completions.well_formed
        psi = torch.where(correct, gamma, 1 - gamma)
        return functional.mgas_scale(psi, self.beta, self.c, self.min_scale, self.max_scale, self.variant == "printed")
