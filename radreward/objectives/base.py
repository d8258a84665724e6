"""Base classes of objectives on rewards: from a batch of tensors to unreduced losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from radreward.distributed import mean_count_per_rank, world_size
from radreward.errors import InputError
from radreward.objectives.functional import ranking_losses as functional
from radreward.objectives.weighting import CriterionWeighting, UniformWeighting
from radreward.types import ObjectiveOutput, RewardBatch

Reduction = Literal["mean", "sum"]


class Objective(nn.Module, ABC):
    """A loss on rewards.

    Subclasses implement `forward`. The training module calls it on every batch and minimizes `reduce` of its output.
    Means over criteria are computed by `self.weighting`.

    Args:
        weighting: Weights of the criteria in a mean over them; defaults to `UniformWeighting`.
        reduction: "mean" or "sum" over the losses.

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
        """Return the unreduced losses of a batch and detached scalars to log.

        A log key that ends in "/j" belongs to criterion j. An empty batch gives losses of length 0 that still depend
        on the rewards, so that their sum backpropagates zeros.
        """

    if TYPE_CHECKING:

        def __call__(self, batch: RewardBatch) -> ObjectiveOutput:
            """Call `forward`."""

    def normalized_losses(self, output: ObjectiveOutput) -> Tensor:
        """Return the contribution of each loss to the reduced loss: same length as the losses, sums to `reduce`.

        In distributed training the contributions are scaled so that the mean over ranks is the mean (or sum) over
        the losses of all ranks, although each rank has a different number of losses.

        Raises:
            InputError: If `forward` did not return an `ObjectiveOutput` with (n,) losses; names the class.
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
        """Return the () loss to minimize, in the dtype of the rewards; 0 for a batch without losses."""
        return self.normalized_losses(output).sum()

    def update_weighting(self, batch: RewardBatch) -> None:
        """In training, update the weighting with the pairs that each criterion's rewards order correctly.

        A subclass that implements `forward` calls it there once per batch, after the weights were used.
        """
        if self.training:
            accepted, rejected = batch.pairs.unbind(1)
            rewards, quality = batch.rewards.detach(), batch.quality
            labels = functional.pairwise_order_labels(
                rewards[accepted] - rewards[rejected], quality[accepted] - quality[rejected]
            )
            self.weighting.update(*labels)

    def reduce_logs(self, terms: dict[str, Tensor]) -> dict[str, Tensor]:
        """Average loss terms to scalars to log, and add the logs of the weighting.

        Args:
            terms: (n,) values, or (n, N) values per criterion, by name. The latter are logged as their weighted mean
                and per criterion as "name/j". The mean of an empty term is 0. As with `normalized_losses`, the mean
                over ranks is the mean over all values.
        """
        logs = self.weighting.logs()
        for name, values in terms.items():
            mean = values.detach().sum(0) / mean_count_per_rank(len(values), values.device)
            if mean.ndim:
                logs |= {f"{name}/{j}": value for j, value in enumerate(mean)}
                mean = self.weighting(mean)
            logs[name] = mean
        return logs


class PairObjective(Objective):
    """A loss on pairs of an accepted and a rejected report of the same reference.

    Subclasses implement `pair_loss` only.

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
        """Return the loss of each pair; called once per batch, also with P = 0.

        Args:
            accepted: (P, N) rewards of the better reports.
            rejected: (P, N) rewards of the worse reports.
            margin: (P, N) quality of the accepted minus quality of the rejected report, in the dtype of the
                rewards; may be negative for a criterion, and its sum is positive.

        Returns:
            (P,) losses.
        """

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the losses of the pairs, and update the weighting."""
        output = ObjectiveOutput(self.pair_loss(*gather_pairs(batch)), self.reduce_logs({}))
        self.update_weighting(batch)
        return output


class CriterionAndTotalObjective(Objective):
    """An objective with one term per criterion and one for their total: L = L_ind + λ·L_tot.

    Subclasses implement `loss_terms`. Logged: `individual`, `individual/j`, `total`.

    Args:
        lambda_: Weight of the total term (λ).
        use_criteria: Include L_ind, the weighted mean over criteria.
        use_total: Include L_tot, the term on the sums over criteria.
        weighting: Weights of the criteria in L_ind.
        reduction: "mean" or "sum" over the losses.

    Raises:
        ValueError: If `lambda_` is negative or not finite, or both terms are excluded.
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
            raise ValueError("Expected at least one of `use_criteria` and `use_total` (with `lambda_` > 0) to be true.")
        self.lambda_ = lambda_
        self.use_criteria = use_criteria
        self.use_total = use_total

    @abstractmethod
    def loss_terms(self, batch: RewardBatch) -> tuple[Tensor, Tensor]:
        """Return the (n, N) losses per criterion and the (n,) losses of the total; called once per batch."""

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the (n,) losses L, and update the weighting."""
        individual, total = self.loss_terms(batch)
        losses, logged = [], {}
        if self.use_criteria:
            losses.append(self.weighting(individual))
            logged["individual"] = individual
        if self.use_total:
            losses.append(self.lambda_ * total)
            logged["total"] = total
        output = ObjectiveOutput(torch.stack(losses).sum(0), self.reduce_logs(logged))
        self.update_weighting(batch)
        return output


def gather_pairs(batch: RewardBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return the (P, N) rewards of accepted and rejected reports and their margins, in the dtype of the rewards."""
    accepted, rejected = batch.pairs.unbind(1)
    margin = (batch.quality[accepted] - batch.quality[rejected]).to(batch.rewards.dtype)
    return batch.rewards[accepted], batch.rewards[rejected], margin
