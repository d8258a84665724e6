"""Regression of error counts."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch.nn import functional as F

from radreward.errors import check_choice
from radreward.objectives.base import Objective, Reduction
from radreward.objectives.functional import regression_losses
from radreward.objectives.weighting import CriterionWeighting
from radreward.types import ObjectiveOutput, RewardBatch


class CountRegression(Objective):
    """Regression of error counts on rewards, which determines the rewards themselves and not only their differences.

    With w_j the batch's `weights`, errors_j = -target_j / w_j and the prediction is x_j = -reward_j / w_j
    (-reward_j for a criterion of weight 0, which has no errors):

    - huber: ½e² if the deviation e = x_j - errors_j is at most δ in size, else δ·(|e| - ½δ);
    - poisson: rate - errors_j·log(rate), rate = softplus(x_j), the negative log-likelihood less a constant.

    One loss per candidate: the weighted mean over criteria. Logged: the loss as `individual`, `individual/j`, and the
    absolute deviation in errors, `deviation`, `deviation/j`.

    Args:
        loss: "huber" or "poisson".
        delta: Deviation at which the Huber loss turns from quadratic to linear (δ), in errors.
        weighting: Weights of the criteria in the mean.
        reduction: "mean" or "sum" over candidates.

    Raises:
        ValueError: If `loss` is neither huber nor poisson, or `delta` is not finite and > 0.

    >>> batch = RewardBatch(torch.tensor([[-1.0]]), torch.tensor([[-3.0]]), torch.zeros(1), torch.zeros(0, 2).long())
    >>> CountRegression()(batch).loss  # 2 - 1/2
    tensor(1.5000)
    """

    def __init__(
        self,
        loss: Literal["huber", "poisson"] = "huber",
        delta: float = 1.0,
        weighting: CriterionWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weighting, reduction)
        check_choice("loss", loss, ("huber", "poisson"))
        if not (math.isfinite(delta) and delta > 0):
            raise ValueError(f"Expected `delta` to be finite and > 0 but got {delta}.")
        self.loss = loss
        self.delta = delta

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the reduced loss of the candidates, and update the weighting."""
        weights = torch.ones(batch.rewards.shape[-1]) if batch.weights is None else batch.weights
        weights = torch.where(weights > 0, weights, 1.0).to(batch.rewards)
        predicted, errors = -batch.rewards / weights, -batch.targets.to(batch.rewards.dtype) / weights
        if self.loss == "huber":
            individual = F.huber_loss(predicted, errors, delta=self.delta, reduction="none")
            deviation = (predicted - errors).abs()
        else:
            individual = regression_losses.poisson_nll(predicted, errors)
            deviation = (F.softplus(predicted) - errors).abs()
        logs = self.weighting.logs()
        logs |= self.reduce_by_criterion("individual", individual)
        logs |= self.reduce_by_criterion("deviation", deviation)
        loss = self.reduce(self.weighting(individual))
        self.update_weighting(batch)
        return ObjectiveOutput(loss, logs)
