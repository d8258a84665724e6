"""The Bradley–Terry objective of reward models."""

from __future__ import annotations

from torch import Tensor

from radreward.objectives.base import CriterionAndTotalObjective, PairObjective, Reduction
from radreward.objectives.functional import rewards as functional
from radreward.objectives.weighting import CriterionWeighting


class BradleyTerry(CriterionAndTotalObjective, PairObjective):
    """The better report should win: -log σ(d) of the difference of rewards (Bradley and Terry, 1952).

    By criterion the winner is the report that is better in it, and a tie counts as half a win for each; in total
    the accepted report wins. With `margin` the winner has to lead by the margin: -log σ(t·(d - m)), as Llama 2 does.
    `individual=False` gives the usual loss of a reward model on the sum of its rewards.
    Logged: `individual`, `individual/j`, `total`.

    Args:
        margin: Whether the winner has to lead by the difference of quality.
        lambda_: Weight of the total term.
        individual: Whether the mean over the criteria takes part.
        total: Whether the term on the sum of the rewards takes part.
        weighting: How the criteria weigh in the mean.
        reduction: Mean or sum over pairs.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are off.

    >>> import torch
    >>> from radreward.types import RewardBatch
    >>> batch = RewardBatch(torch.zeros(2, 1), torch.tensor([[0.0], [-2.0]]), torch.zeros(2), torch.tensor([[0, 1]]))
    >>> BradleyTerry(individual=False)(batch).losses
    tensor([0.6931])
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

    def pair_terms(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> dict[str, Tensor]:
        """Losses by criterion (P, N) and of the total (P,), those that are on."""
        return self.active_terms(
            self._loss(accepted - rejected, margin), self._loss((accepted - rejected).sum(-1), margin.sum(-1))
        )

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """(P,) losses."""
        return self.weighted_total(self.pair_terms(accepted, rejected, margin))

    def _loss(self, difference: Tensor, margin: Tensor) -> Tensor:
        return functional.bradley_terry(difference, margin.sign(), margin if self.use_margin else 0.0)
