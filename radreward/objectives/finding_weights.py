"""Objectives on finding weights."""

from __future__ import annotations

from radreward.objectives.base import Objective, Reduction, require_part
from radreward.objectives.functional import ranking_losses, regression_losses
from radreward.types import FindingWeightsBatch, ObjectiveOutput, OptionalPart, RewardBatch


class FindingRegression(Objective):
    """Regression of the finding weights of a candidate, from which its quality is computed.

    L = mean over candidates and both weights of the Huber loss (δ = 1). Candidates with unknown weights are left out.
    Not part of ER²Score as published.

    Args:
        reduction: "mean" or "sum" over the weights.

    >>> import torch
    >>> batch = RewardBatch(torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1), torch.zeros(0, 2).long())
    >>> weights = FindingWeightsBatch(predicted=torch.zeros(1, 2), target=torch.tensor([[1.0, 0.0]]))
    >>> FindingRegression()(batch._replace(finding_weights=weights)).loss  # (½ · 1² + 0) / 2
    tensor(0.2500)
    """

    needs = frozenset({OptionalPart.FINDING_WEIGHTS})

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the reduced loss of the known weights; 0 if there are none."""
        weights: FindingWeightsBatch = require_part(batch, OptionalPart.FINDING_WEIGHTS, self)
        loss = self.reduce(regression_losses.finding_regression(*weights))
        return ObjectiveOutput(loss, {})


class QualityOrder(Objective):
    """Margin loss on the order of candidates of one reference by quality.

    L = mean over pairs with q_i > q_j of ReLU(q_i - q_j - (q̂_i - q̂_j)), q the `finding_quality` of the weights.
    Not part of ER²Score as published.

    Args:
        reduction: "mean" or "sum" over the pairs.

    >>> import torch
    >>> batch = RewardBatch(torch.zeros(2, 1), torch.zeros(2, 1), torch.zeros(2), torch.zeros(0, 2).long())
    >>> weights = FindingWeightsBatch(predicted=torch.ones(2, 2), target=torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    >>> QualityOrder()(batch._replace(finding_weights=weights)).loss  # qualities 1 and 0.2
    tensor(0.8000)
    """

    needs = frozenset({OptionalPart.FINDING_WEIGHTS})

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the reduced loss of the pairs of candidates with known weights; 0 if there are none."""
        weights: FindingWeightsBatch = require_part(batch, OptionalPart.FINDING_WEIGHTS, self)
        loss = self.reduce(ranking_losses.quality_order(*weights, batch.group))
        return ObjectiveOutput(loss, {})
