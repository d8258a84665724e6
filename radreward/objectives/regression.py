"""Regression of error counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.errors import InputError
from radreward.objectives import functional
from radreward.objectives.base import Objective, Reduction
from radreward.objectives.weighting import SubScoreWeighting
from radreward.types import ObjectiveOutput, RewardBatch


class CountRegression(Objective):
    """Rewards as predictions of the error counts, which fixes their level as well as their differences.

    An objective knows no criteria, only quality, which is minus the errors times what one error takes off. So
    errors_j = -quality_j / unit_j, and the prediction is x_j = -reward_j / unit_j:

    - huber: ½e² where the deviation e = x_j - errors_j is at most δ in size, else δ·(|e| - ½δ);
    - poisson: rate - errors_j·log(rate), rate = softplus(x_j), the negative log likelihood less a constant.

    One loss per candidate: the weighted mean over the criteria. Logged: `individual`, `individual/j`, and the
    absolute deviation `deviation`, `deviation/j` in errors.

    Args:
        loss: Which of the two.
        delta: Where Huber's loss turns from square to linear (δ), in errors.
        unit: Per criterion, what one error takes off the total: the weights of the criteria; 1 each where nothing
            is given, so that errors are counted in the unit of the quality.
        weighting: How the criteria weigh in the mean.
        reduction: Mean or sum over candidates.

    Raises:
        ValueError: If `loss` is unknown, or `delta` or a `unit` is not finite and > 0.

    >>> batch = RewardBatch(torch.tensor([[-1.0]]), torch.tensor([[-3.0]]), torch.zeros(1), torch.zeros(0, 2).long())
    >>> CountRegression()(batch).losses  # 2 - 1/2
    tensor([1.5000])
    """

    unit: Tensor | None

    def __init__(
        self,
        loss: Literal["huber", "poisson"] = "huber",
        delta: float = 1.0,
        unit: Sequence[float] | None = None,
        weighting: SubScoreWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weighting, reduction)
        if loss not in ("huber", "poisson"):
            raise ValueError(f"Expected `loss` to be huber or poisson but got {loss!r}.")
        for name, values in (("delta", [delta]), ("unit", unit or ())):
            if not all(math.isfinite(value) and value > 0 for value in values):
                raise ValueError(f"Expected `{name}` to be finite and > 0 but got {values}.")
        self.loss = loss
        self.delta = delta
        # A setting, not a state: it comes from the configuration, not from a checkpoint.
        self.register_buffer("unit", None if unit is None else torch.tensor(unit), persistent=False)

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """(C,) losses."""
        predicted, errors = self._errors(batch.rewards), self._errors(batch.quality).to(batch.rewards.dtype)
        if self.loss == "huber":
            individual = F.huber_loss(predicted, errors, delta=self.delta, reduction="none")
            deviation = (predicted - errors).abs()
        else:
            individual = functional.poisson_errors(predicted, errors)
            deviation = (F.softplus(predicted) - errors).abs()
        terms = self.summary({"individual": individual, "deviation": deviation})
        output = ObjectiveOutput(self.weighting(individual), terms)
        self.observe(batch)
        return output

    def _errors(self, quality: Tensor) -> Tensor:
        if self.unit is None:
            return -quality
        if len(self.unit) != quality.shape[-1]:
            raise InputError(
                f"Expected `unit` to have {quality.shape[-1]} values, one per criterion, but got {len(self.unit)}."
            )
        return -quality / self.unit.to(quality)
