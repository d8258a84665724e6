"""Weighted sum of objectives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from radreward.objectives.base import Objective, require_objects
from radreward.types import ObjectiveOutput, RewardBatch


class SumObjective(Objective):
    """Σ_k a_k·L_k, where each objective k has its own weighting and reduction.

    Logged: what each objective logs, under "ClassName/", and its contribution a_k·L_k as "ClassName/loss"; a second
    objective of the same class is "ClassName_2". The contributions add up to the loss.

    Args:
        objectives: At least one objective.
        weights: Finite weights a_k, one per objective; defaults to 1 for each.

    Raises:
        ValueError: If there is no objective, or the weights are invalid.
        TypeError: If an objective is no object.

    >>> from radreward.objectives import BradleyTerry, CountRegression
    >>> batch = RewardBatch(
    ...     torch.zeros(2, 1), torch.tensor([[0.0], [-2.0]]), torch.zeros(2), torch.tensor([[0, 1]])
    ... )
    >>> both = SumObjective([BradleyTerry(use_criteria=False), CountRegression()], [1.0, 2.0])
    >>> both(batch).loss  # log 2, and 2 * (0 + 1.5) / 2
    tensor(2.1931)
    """

    def __init__(self, objectives: Sequence[Objective], weights: Sequence[float] | None = None) -> None:
        super().__init__()
        if not objectives:
            raise ValueError("Expected `objectives` to have at least one objective but got none.")
        require_objects(self, objectives, Objective, "objectives", "Sequence[Objective]")
        weights = [1.0] * len(objectives) if weights is None else list(weights)
        if len(weights) != len(objectives) or not all(map(math.isfinite, weights)):
            raise ValueError(
                f"Expected `weights` to be {len(objectives)} finite numbers, one per objective, but got {weights}."
            )
        self.objectives = nn.ModuleList(objectives)
        self.weights = weights
        self.needs = frozenset().union(*(objective.needs for objective in objectives))

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the weighted sum of the losses of all objectives."""
        losses: list[Tensor] = []
        logs: dict[str, Tensor] = {}
        repetitions: Counter[str] = Counter()
        for objective, weight in zip(cast("Iterable[Objective]", self.objectives), self.weights, strict=True):
            name = type(objective).__name__
            repetitions[name] += 1
            prefix = name if repetitions[name] == 1 else f"{name}_{repetitions[name]}"
            output = objective(batch)
            losses.append(weight * output.loss)
            logs |= {f"{prefix}/{key}": value for key, value in output.logs.items()}
            logs[f"{prefix}/loss"] = losses[-1].detach()
        return ObjectiveOutput(torch.stack(losses).sum(), logs)
