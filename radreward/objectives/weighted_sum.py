"""Weighted sum of objectives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from radreward.objectives.base import Objective
from radreward.types import ObjectiveOutput, RewardBatch


class WeightedSumObjective(Objective):
    """Σ_k a_k·L_k, where each objective k has its own weighting and reduction.

    The objectives may have losses per pair, per group or per candidate, so `losses` concatenates their contributions
    to the sum: a_k times the normalized losses of L_k, to be summed. The logs of objective k are prefixed with
    "k_ClassName/", and its reduced loss is logged as "k_ClassName/loss".

    Args:
        objectives: At least one objective.
        weights: Finite weights a_k, one per objective; defaults to 1 for each.

    Raises:
        ValueError: If there is no objective, or the weights are invalid.

    >>> from radreward.objectives import BradleyTerry, CountRegression
    >>> batch = RewardBatch(
    ...     torch.zeros(2, 1), torch.tensor([[0.0], [-2.0]]), torch.zeros(2), torch.tensor([[0, 1]])
    ... )
    >>> both = WeightedSumObjective([BradleyTerry(use_criteria=False), CountRegression()], [1.0, 2.0])
    >>> output = both(batch)
    >>> output.losses, both.reduce(output)  # log 2, and 2 * (0 and 1.5) / 2
    (tensor([0.6931, 0.0000, 1.5000]), tensor(2.1931))
    """

    def __init__(self, objectives: Sequence[Objective], weights: Sequence[float] | None = None) -> None:
        super().__init__(reduction="sum")
        if not objectives:
            raise ValueError("Expected `objectives` to have at least one objective but got none.")
        weights = [1.0] * len(objectives) if weights is None else list(weights)
        if len(weights) != len(objectives) or not all(map(math.isfinite, weights)):
            raise ValueError(
                f"Expected `weights` to be {len(objectives)} finite numbers, one per objective, but got {weights}."
            )
        self.objectives = nn.ModuleList(objectives)
        self.weights = weights

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the weighted, normalized losses of all objectives, concatenated."""
        losses: list[Tensor] = []
        logs: dict[str, Tensor] = {}
        objectives = cast("Iterable[Objective]", self.objectives)
        for k, (objective, weight) in enumerate(zip(objectives, self.weights, strict=True)):
            output = objective(batch)
            normalized = objective.normalized_losses(output)
            losses.append(weight * normalized)
            prefix = f"{k}_{type(objective).__name__}"
            logs |= {f"{prefix}/{name}": value for name, value in output.logs.items()}
            logs[f"{prefix}/loss"] = normalized.detach().sum()
        return ObjectiveOutput(torch.cat(losses), logs)

    def normalized_losses(self, output: ObjectiveOutput) -> Tensor:
        """Return the losses, which `forward` has normalized already."""
        return output.losses
