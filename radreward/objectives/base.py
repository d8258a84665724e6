"""What every objective on rewards is: one method from a batch of tensors to unreduced losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from radreward.distributed import mean_count_per_rank, world_size
from radreward.errors import InputError
from radreward.objectives.functional import rewards as functional
from radreward.objectives.weighting import CriterionWeighting, UniformWeighting
from radreward.types import ObjectiveOutput, RewardBatch

Reduction = Literal["mean", "sum"]


class Objective(nn.Module, ABC):
    """A loss on rewards that sees tensors only.

    Subclasses implement `forward`; whoever trains calls it on every batch and minimises `reduce` of its output.
    Where the mean over criteria is needed, `self.weighting` takes it.

    Args:
        weighting: How the criteria weigh in a mean over them; `UniformWeighting` where nothing is given.
        reduction: How `reduce` makes one number of the losses: their mean or their sum.

    Raises:
        ValueError: If `reduction` is neither mean nor sum.
    """

    def __init__(self, weighting: CriterionWeighting | None = None, reduction: Reduction = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum"):
            raise ValueError(f"Expected `reduction` to be mean or sum but got {reduction!r}.")
        self.weighting = UniformWeighting() if weighting is None else weighting
        self.reduction: Reduction = reduction

    @abstractmethod
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Losses of a batch, before any reduction, and detached scalars to log.

        A key that ends in "/j" belongs to criterion j. An empty batch gives losses of length 0 that still hang on
        the rewards, so that their sum backpropagates zeros.
        """

    if TYPE_CHECKING:

        def __call__(self, batch: RewardBatch) -> ObjectiveOutput:
            """As `forward`."""

    def normalized_losses(self, output: ObjectiveOutput) -> Tensor:
        """What each loss contributes to the reduced one: same length as the losses, sums to `reduce`.

        Where several processes train together, the mean of what `reduce` gives them is the mean or the sum over the
        losses of all: they average their gradients, and each has another number of losses.

        Raises:
            InputError: If `forward` gave no `ObjectiveOutput` with (n,) losses; names the class.
        """
        name = type(self).__name__
        if not isinstance(output, ObjectiveOutput):
            raise InputError(
                f"{name}: Expected `forward` to return an ObjectiveOutput but got {type(output).__name__}."
            )
        if output.losses.ndim != 1:
            raise InputError(f"{name}: Expected losses of shape (n,) but got {tuple(output.losses.shape)}.")
        if self.reduction == "sum":
            return output.losses * world_size()
        return output.losses / mean_count_per_rank(len(output.losses), output.losses.device)

    def reduce(self, output: ObjectiveOutput) -> Tensor:
        """The one number to minimise, () in the dtype of the rewards; 0 for a batch without losses."""
        return self.normalized_losses(output).sum()

    def update_weighting(self, batch: RewardBatch) -> None:
        """Tell the weighting, in training, which pairs the rewards order right by which criterion.

        A subclass that implements `forward` itself calls it there, once per batch, after the weights were used.
        """
        if self.training:
            accepted, rejected = batch.pairs.unbind(1)
            rewards, quality = batch.rewards.detach(), batch.quality
            self.weighting.update(
                *functional.pairwise_order_labels(
                    rewards[accepted] - rewards[rejected], quality[accepted] - quality[rejected]
                )
            )

    def reduce_logs(self, values: dict[str, Tensor]) -> dict[str, Tensor]:
        """Unreduced parts of a loss as scalars to log, with what the weighting logs.

        Args:
            terms: By name, (n,) values or (n, N) values by criterion. The latter are logged as their weighted mean
                and, under "name/j", by criterion. The mean of no values is logged as 0. As with `shares`, the mean
                over the processes is the one over all values.
        """
        scalars = self.weighting.logs()
        for name, value in values.items():
            mean = value.detach().sum(0) / mean_count_per_rank(len(value), value.device)
            if mean.ndim:
                scalars |= {f"{name}/{j}": entry for j, entry in enumerate(mean)}
                mean = self.weighting(mean)
            scalars[name] = mean
        return scalars


class PairObjective(Objective):
    """A loss on accepted and rejected reports of the same reference.

    Gathers the pairs; a subclass implements `pair_loss` and nothing else.

    >>> class SquaredMargin(PairObjective):
    ...     def pair_loss(self, accepted, rejected, margin):
    ...         return self.weighting((accepted - rejected - margin) ** 2)
    >>> rewards, quality = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> batch = RewardBatch(rewards, quality, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
    >>> SquaredMargin()(batch).losses
    tensor([1.])
    """

    @abstractmethod
    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """Loss of each pair; called once per batch, also with P = 0.

        Args:
            accepted: (P, N) rewards of the better reports.
            rejected: (P, N) rewards of the worse reports.
            margin: (P, N) quality of the accepted minus quality of the rejected report, in the dtype of the
                rewards; may be negative for a criterion, and is positive in sum.

        Returns:
            (P,) losses.
        """

    def pair_terms(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> dict[str, Tensor]:
        """Parts of the loss to log, (P,) or (P, N) by name; called once per batch, without gradients."""
        return {}

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Gather the pairs, take their losses and tell the weighting how they were ordered."""
        accepted, rejected = batch.pairs.unbind(1)
        margin = (batch.quality[accepted] - batch.quality[rejected]).to(batch.rewards.dtype)
        pairs = batch.rewards[accepted], batch.rewards[rejected], margin
        losses = self.pair_loss(*pairs)
        with torch.no_grad():
            terms = self.reduce_logs(self.pair_terms(*pairs))
        self.update_weighting(batch)
        return ObjectiveOutput(losses, terms)


class CriterionAndTotalObjective(Objective):
    """An objective with a term for every criterion and one for their total: L = L_ind + λ·L_tot.

    Args:
        lambda_: Weight of the total term (λ).
        individual: Whether L_ind, the weighted mean over the criteria, takes part.
        total: Whether L_tot, of the sums over the criteria, takes part.
        weighting: How the criteria weigh in L_ind.
        reduction: Mean or sum over the losses.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are switched off.
    """

    def __init__(
        self,
        lambda_: float = 1.0,
        use_criteria: bool = True,
        use_total: bool = True,
        weighting: CriterionWeighting | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weighting, reduction)
        if not (math.isfinite(lambda_) and lambda_ >= 0):
            raise ValueError(f"Expected `lambda_` to be finite and >= 0 but got {lambda_}.")
        if not use_criteria and not (use_total and lambda_ > 0):
            raise ValueError("Expected at least one of `individual` and `total` (with `lambda_` > 0) to be on.")
        self.lambda_ = lambda_
        self.use_criteria = use_criteria
        self.use_total = use_total

    def active_terms(self, individual: Tensor, total: Tensor) -> dict[str, Tensor]:
        """Those of the (n, N) individual and (n,) total terms that are switched on, by name."""
        on = {"individual": self.use_criteria, "total": self.use_total}
        return {name: term for name, term in (("individual", individual), ("total", total)) if on[name]}

    def weighted_total(self, terms: dict[str, Tensor]) -> Tensor:
        """(n,) losses from what `levels` gives."""
        parts = []
        if self.use_criteria:
            parts.append(self.weighting(terms["individual"]))
        if self.use_total:
            parts.append(self.lambda_ * terms["total"])
        return torch.stack(parts).sum(0)
