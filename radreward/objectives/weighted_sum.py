"""A weighted sum of objectives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from radreward.objectives.base import Objective
from radreward.types import ObjectiveOutput, RewardBatch


class WeightedSumObjective(Objective):
    """Σ_k a_k·L_k, where each objective k keeps its own weighting and reduction.

    The objectives may have losses of different kinds: per pair, per group, per candidate. So `losses` holds what
    each of them contributes to the sum, objective after objective: a_k times its share of the reduced L_k. These
    are summed; the reduction is never a mean. The terms of objective k are logged under "k_ClassName/", with its
    reduced loss as "k_ClassName/loss".

    Args:
        objectives: At least one.
        coefficients: One a_k per objective, finite; 1 each where nothing is given.

    Raises:
        ValueError: If there is no objective, or the coefficients do not fit.

    >>> from radreward.objectives import BradleyTerry, CountRegression
    >>> batch = RewardBatch(
    ...     torch.zeros(2, 1), torch.tensor([[0.0], [-2.0]]), torch.zeros(2), torch.tensor([[0, 1]])
    ... )
    >>> both = SumOfObjectives([BradleyTerry(individual=False), CountRegression()], [1.0, 2.0])
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
                f"Expected `coefficients` to be {len(objectives)} finite numbers, one per objective, but got {weights}."
            )
        self.objectives = nn.ModuleList(objectives)
        self.weights = weights

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Contributions of all objectives, one after the other."""
        losses: list[Tensor] = []
        terms: dict[str, Tensor] = {}
        objectives = cast("Iterable[Objective]", self.objectives)
        for k, (objective, coefficient) in enumerate(zip(objectives, self.weights, strict=True)):
            output = objective(batch)
            shares = objective.normalized_losses(output)
            losses.append(coefficient * shares)
            name = f"{k}_{type(objective).__name__}"
            terms |= {f"{name}/{term}": value for term, value in output.logs.items()}
            terms[f"{name}/loss"] = shares.detach().sum()
        return ObjectiveOutput(torch.cat(losses), terms)

    def normalized_losses(self, output: ObjectiveOutput) -> Tensor:
        """The losses: they are shares already."""
        return output.losses
