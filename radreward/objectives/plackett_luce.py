"""Plackett–Luce objective: listwise ranking of all candidates of a reference."""

from __future__ import annotations

import torch
from torch import Tensor

from radreward.objectives.base import CriterionAndTotalObjective
from radreward.objectives.functional import ranking_losses
from radreward.types import RewardBatch


class PlackettLuce(CriterionAndTotalObjective):
    """Negative log-likelihood of each group's ranking (Plackett, 1975; Luce, 1959), per criterion and in total.

    Candidates with equal targets compete with each other as well (Breslow's treatment of ties): their order carries
    no gradient, and their rewards are pulled together. One loss per group; pairs are used by the weighting only.
    Logged: `individual`, `individual/j`, `total`.

    Args:
        lambda_: Weight of the ranking by the sum of the rewards.
        use_criteria: Include the mean over the rankings per criterion.
        use_total: Include the ranking by the sum.
        weighting: Weights of the criteria in the mean.
        reduction: "mean" or "sum" over groups.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are excluded.

    >>> batch = RewardBatch(
    ...     torch.zeros(3, 1), torch.tensor([[0.0], [-1.0], [-2.0]]), torch.zeros(3), torch.tensor([[0, 1]])
    ... )
    >>> PlackettLuce(use_criteria=False)(batch).loss  # log 3 + log 2
    tensor(1.7918)
    """

    def loss_terms(self, batch: RewardBatch) -> tuple[Tensor, Tensor]:
        """Return the (G, N) losses per criterion and the (G,) losses of the total, by ascending group index."""
        scores = torch.cat([batch.rewards, batch.rewards.sum(-1, keepdim=True)], -1)
        targets = torch.cat([batch.targets, batch.targets.sum(-1, keepdim=True)], -1)
        losses = ranking_losses.plackett_luce(scores, targets, batch.group)
        return losses[:, :-1], losses[:, -1]
