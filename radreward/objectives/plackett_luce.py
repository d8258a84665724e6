"""Listwise ranking of all candidates of a reference."""

from __future__ import annotations

import torch
from torch import Tensor

from radreward.objectives.base import CriterionAndTotalObjective
from radreward.objectives.functional import rewards as functional
from radreward.types import ObjectiveOutput, RewardBatch


class PlackettLuce(CriterionAndTotalObjective):
    """Negative log likelihood of each group's ranking (Plackett, 1975; Luce, 1959), by criterion and in total.

    Candidates of equal quality compete with each other as well (Breslow's treatment of ties): their order carries
    no gradient and their rewards are drawn together. One loss per group; the pairs are not used but by the
    weighting. Logged: `individual`, `individual/j`, `total`.

    Args:
        lambda_: Weight of the ranking by the sum of the rewards.
        individual: Whether the mean over the criteria's rankings takes part.
        total: Whether the ranking by the sum takes part.
        weighting: How the criteria weigh in the mean.
        reduction: Mean or sum over groups.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are off.

    >>> batch = RewardBatch(
    ...     torch.zeros(3, 1), torch.tensor([[0.0], [-1.0], [-2.0]]), torch.zeros(3), torch.tensor([[0, 1]])
    ... )
    >>> ListwiseRanking(individual=False)(batch).losses  # log 3 + log 2
    tensor([1.7918])
    """

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """(G,) losses, the groups in ascending order of their number."""
        levels = self.active_terms(*self._rankings(batch))
        output = ObjectiveOutput(self.weighted_total(levels), self.reduce_logs(levels))
        self.update_weighting(batch)
        return output

    @staticmethod
    def _rankings(batch: RewardBatch) -> tuple[Tensor, Tensor]:
        """Losses by criterion (G, N) and of the total (G,): the total is one more column."""
        scores = torch.cat([batch.rewards, batch.rewards.sum(-1, keepdim=True)], -1)
        quality = torch.cat([batch.quality, batch.quality.sum(-1, keepdim=True)], -1)
        losses = functional.plackett_luce(scores, quality, batch.group)
        return losses[:, :-1], losses[:, -1]
