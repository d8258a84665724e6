"""Regression of error counts."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch.nn import functional as F

from radreward.objectives.base import Objective, Reduction
from radreward.objectives.functional import rewards as functional
from radreward.objectives.weighting import CriterionWeighting
from radreward.types import ObjectiveOutput, RewardBatch


class CountRegression(Objective):
    """Rewards as predictions of the error counts, which fixes their level as well as their differences.

    Quality is minus the errors times what one error takes off, the batch's `unit`, so errors_j = -quality_j / unit_j,
    and the prediction is x_j = -reward_j / unit_j (of a criterion that weighs nothing -reward_j: it has no errors):

    - huber: ½e² where the deviation e = x_j - errors_j is at most δ in size, else δ·(|e| - ½δ);
    - poisson: rate - errors_j·log(rate), rate = softplus(x_j), the negative log likelihood less a constant.

    One loss per candidate: the weighted mean over the criteria. Logged: `individual`, `individual/j`, and the
    absolute deviation `deviation`, `deviation/j` in errors.

    Args:
        loss: Which of the two.
        delta: Where Huber's loss turns from square to linear (δ), in errors.
        weighting: How the criteria weigh in the mean.
        reduction: Mean or sum over candidates.

    Raises:
        ValueError: If `loss` is unknown, or `delta` is not finite and > 0.

    >>> batch = RewardBatch(torch.tensor([[-1.0]]), torch.tensor([[-3.0]]), torch.zeros(1), torch.zeros(0, 2).long())
    >>> CountRegression()(batch).losses  # 2 - 1/2
    tensor([1.5000])
    """

    def __init__(
        self,
        loss: Literal["huber", "poisson"] = "huber",
        delta: float = 1.0,
        weighting: CriterionWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weighting, reduction)
        if loss not in ("huber", "poisson"):
            raise ValueError(f"Expected `loss` to be huber or poisson but got {loss!r}.")
        if not (math.isfinite(delta) and delta > 0):
            raise ValueError(f"Expected `delta` to be finite and > 0 but got {delta}.")
        self.loss = loss
        self.delta = delta

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """(C,) losses."""
        unit = torch.ones(batch.rewards.shape[-1]) if batch.error_weights is None else batch.error_weights
        unit = torch.where(unit > 0, unit, 1.0).to(batch.rewards)
        predicted, errors = -batch.rewards / unit, -batch.quality.to(batch.rewards.dtype) / unit
        if self.loss == "huber":
            individual = F.huber_loss(predicted, errors, delta=self.delta, reduction="none")
            deviation = (predicted - errors).abs()
        else:
            individual = functional.poisson_nll(predicted, errors)
            deviation = (F.softplus(predicted) - errors).abs()
        terms = self.reduce_logs({"individual": individual, "deviation": deviation})
        output = ObjectiveOutput(self.weighting(individual), terms)
        self.update_weighting(batch)
        return output
