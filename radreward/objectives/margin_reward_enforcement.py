"""Margin Reward Enforcement, the loss of ER²Score."""

from __future__ import annotations

import math

from torch import Tensor

from radreward.objectives.base import CriterionAndTotalObjective, PairObjective, Reduction
from radreward.objectives.functional import rewards as functional
from radreward.objectives.weighting import CriterionWeighting


class MarginRewardEnforcement(CriterionAndTotalObjective, PairObjective):
    r"""Rewards of a pair have to differ by its margin, criterion by criterion and in total (ER²Score, Eq. 1).

    With d_j the difference of rewards, m_j the margin and t_j = sign(m_j), for each pair

    - L_ind = mean over j of ReLU(-t_j·d_j + t_j·m_j) where m_j is not 0, and ReLU(\|d_j\| - c) where it is;
    - L_tot = ReLU(-Σ_j d_j + Σ_j m_j);
    - L = L_ind + λ·L_tot.

    The loss fixes differences only: an offset per criterion is free. Logged: `individual`, `individual/j`, `total`.

    Args:
        lambda_: Weight of the total term (λ; Table 7 of the paper).
        c: How far apart two rewards may be where the margin is 0.
        individual: Whether L_ind takes part (Table 6).
        total: Whether L_tot takes part (Table 6).
        weighting: How the criteria weigh in L_ind; equally, as in the paper, where nothing is given.
        reduction: Over pairs. The paper sums; the default is the mean, which does not grow with the batch.

    Raises:
        ValueError: If `lambda_` or `c` is negative or not finite, or both terms are off.

    >>> import torch
    >>> from radreward.types import RewardBatch
    >>> rewards, quality = torch.zeros(2, 2), torch.tensor([[0.0, 0.0], [-2.0, 0.0]])
    >>> batch = RewardBatch(rewards, quality, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
    >>> MarginRewardEnforcement()(batch).losses  # (2 + 0) / 2 + 1 * 2
    tensor([3.])
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

    def pair_terms(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> dict[str, Tensor]:
        """L_ind by criterion (P, N) and L_tot (P,), those that are on."""
        difference = accepted - rejected
        return self.active_terms(
            functional.mre_criterion_loss(difference, margin, self.c), functional.mre_total_loss(difference, margin)
        )

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """(P,) losses L."""
        return self.weighted_total(self.pair_terms(accepted, rejected, margin))
