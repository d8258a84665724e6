"""Bradley–Terry objective of reward models."""

from __future__ import annotations

from torch import Tensor

from radreward.criteria.pairs import gather_pairs
from radreward.objectives.base import CriterionAndTotalObjective, Reduction
from radreward.objectives.functional import ranking_losses
from radreward.objectives.weighting import CriterionWeighting
from radreward.types import RewardBatch


class BradleyTerry(CriterionAndTotalObjective):
    """Negative log-likelihood of the preferred report, -log σ(d), d the reward difference (Bradley and Terry, 1952).

    For a criterion, the report with the higher target is preferred, and a tie counts as half a win for each; in total,
    the accepted report is preferred. With `use_margin`, the loss is -log σ(t·(d - m)), as in Llama 2.
    `use_criteria=False` gives the usual reward-model loss on the sum of the rewards.
    Logged: `individual`, `individual/j`, `total`.

    Args:
        use_margin: Require the preferred report to lead by the difference of the targets.
        lambda_: Weight of the total term.
        use_criteria: Include the mean over criteria.
        use_total: Include the term on the sum of the rewards.
        weighting: Weights of the criteria in the mean.
        reduction: "mean" or "sum" over pairs.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are excluded.

    >>> import torch
    >>> batch = RewardBatch(torch.zeros(2, 1), torch.tensor([[0.0], [-2.0]]), torch.zeros(2), torch.tensor([[0, 1]]))
    >>> BradleyTerry(use_criteria=False)(batch).loss
    tensor(0.6931)
    """

    def __init__(
        self,
        use_margin: bool = False,
        lambda_: float = 1.0,
        use_criteria: bool = True,
        use_total: bool = True,
        weighting: CriterionWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(lambda_, use_criteria, use_total, weighting, reduction)
        self.use_margin = use_margin

    def loss_terms(self, batch: RewardBatch) -> tuple[Tensor, Tensor]:
        """Return the (P, N) losses per criterion and the (P,) losses of the total."""
        accepted, rejected, margin = gather_pairs(batch)
        difference = accepted - rejected
        return self._loss(difference, margin), self._loss(difference.sum(-1), margin.sum(-1))

    def _loss(self, difference: Tensor, margin: Tensor) -> Tensor:
        return ranking_losses.bradley_terry(difference, margin.sign(), margin if self.use_margin else 0.0)
