"""Margin Reward Enforcement (MRE), the loss of ER²Score."""

from __future__ import annotations

import math

from torch import Tensor

from radreward.criteria.pairs import gather_pairs
from radreward.objectives.base import CriterionAndTotalObjective, Reduction
from radreward.objectives.functional import ranking_losses
from radreward.objectives.weighting import CriterionWeighting
from radreward.types import RewardBatch


class MarginRewardEnforcement(CriterionAndTotalObjective):
    r"""Margin loss on the reward differences of a pair, per criterion and in total (ER²Score, Eq. 1).

    With d_j the reward difference, m_j the margin and t_j = sign(m_j), for each pair

    - L_ind = mean over j of ReLU(-t_j·d_j + t_j·m_j) if m_j is not 0, else ReLU(\|d_j\| - c);
    - L_tot = ReLU(-Σ_j d_j + Σ_j m_j);
    - L = L_ind + λ·L_tot.

    The loss depends on differences only, so it determines rewards up to an offset per criterion. Logged: L_ind as
    `individual`, λ·L_tot as `total`, and `individual/j` per criterion.

    Args:
        lambda_: Weight of the total term (λ; Table 7 of the paper).
        c: Largest reward difference without loss if the margin is 0.
        use_criteria: Include L_ind (Table 6).
        use_total: Include L_tot (Table 6).
        weighting: Weights of the criteria in L_ind; defaults to equal weights, as in the paper.
        reduction: "mean" or "sum" over pairs. The paper sums; the mean does not grow with the batch.

    Raises:
        ValueError: If `lambda_` or `c` is negative or not finite, or both terms are excluded.

    >>> import torch
    >>> rewards, targets = torch.zeros(2, 2), torch.tensor([[0.0, 0.0], [-2.0, 0.0]])
    >>> batch = RewardBatch(rewards, targets, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
    >>> MarginRewardEnforcement()(batch).loss  # (2 + 0) / 2 + 1 * 2
    tensor(3.)
    """

    def __init__(
        self,
        lambda_: float = 1.0,
        c: float = 0.01,
        use_criteria: bool = True,
        use_total: bool = True,
        weighting: CriterionWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(lambda_, use_criteria, use_total, weighting, reduction)
        if not (math.isfinite(c) and c >= 0):
            raise ValueError(f"Expected `c` to be finite and >= 0 but got {c}.")
        self.c = c

    def loss_terms(self, batch: RewardBatch) -> tuple[Tensor, Tensor]:
        """Return the (P, N) summands of L_ind and the (P,) L_tot."""
        accepted, rejected, margin = gather_pairs(batch)
        difference = accepted - rejected
        individual = ranking_losses.mre_criterion_loss(difference, margin, self.c)
        return individual, ranking_losses.mre_total_loss(difference, margin)
