"""Objective on located errors."""

from __future__ import annotations

from radreward.objectives.base import Objective, Reduction, require_part
from radreward.objectives.functional import regression_losses
from radreward.types import ObjectiveOutput, OptionalPart, RewardBatch


class LocatedErrors(Objective):
    """Poisson regression of the evidence of each statement on its located errors.

    L = mean over candidates and kinds of errors of Σ_s (e_s - n_s·log(e_s + 1e-4)), with e_s the summed evidence of the
    tokens of statement s and n_s its errors of one kind. Candidates whose errors are not located are left out.
    Not part of ER²Score as published. It needs a model with `architecture: evidence`.

    Args:
        reduction: "mean" or "sum" over candidates.
    """

    needs = frozenset({OptionalPart.LOCATED_ERRORS})

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the reduced loss of the candidates with located errors; 0 if there are none."""
        located = require_part(batch, OptionalPart.LOCATED_ERRORS, self)
        num_candidates = (located.targets.candidate >= 0).any(1).sum()
        loss = self.reduce(regression_losses.located_error_regression(*located), num_candidates)
        return ObjectiveOutput(loss, {})
