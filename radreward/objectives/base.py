"""Base classes of objectives on rewards: from a batch of tensors to the loss that is minimized."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from traceback import walk_tb
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from radreward.criteria.pairs import gather_pairs
from radreward.distributed import mean_count_per_rank, world_size
from radreward.errors import InputError, check_choice
from radreward.objectives.functional import ranking_losses
from radreward.objectives.weighting import CriterionWeighting, UniformWeighting
from radreward.types import ObjectiveOutput, OptionalPart, RewardBatch

Reduction = Literal["mean", "sum"]

RESERVED_LOGS = ("loss", "truncated")
"""Keys that the training module logs; an objective that logs them would replace `train/loss`."""


class Objective(nn.Module, ABC):
    """Loss of a reward model; the training module minimizes it and adds no other term.

    Subclasses implement `forward`, and average their losses with `reduce`.

    Args:
        weighting: Weights of the criteria in a mean over them; defaults to `UniformWeighting`.
        reduction: "mean" or "sum" over the losses of a batch.

    Attributes:
        needs: Optional parts of a `RewardBatch` that the objective requires, "finding_weights" or "located_errors"; the
            module builds a model that predicts them.

    Raises:
        ValueError: If `reduction` is neither mean nor sum.
        TypeError: If `weighting` is no object.
    """

    needs: frozenset[str] = frozenset()

    def __init__(self, weighting: CriterionWeighting | None = None, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_choice("reduction", reduction, get_args(Reduction))
        self.weighting = UniformWeighting() if weighting is None else weighting
        require_objects(self, [self.weighting], CriterionWeighting, "weighting", "CriterionWeighting | None")
        self.reduction: Reduction = reduction

    @abstractmethod
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the loss of a batch and detached scalars to log.

        A log key that ends in "/j" belongs to criterion j; "loss" and "truncated" are reserved. An empty batch gives a
        loss of 0.
        """

    def __call__(self, batch: RewardBatch) -> ObjectiveOutput:
        """Call `forward`, and add 0 · rewards: distributed training needs a gradient for every parameter.

        Raises:
            InputError: If `forward` does not return an `ObjectiveOutput` with a () loss and valid logs, or uses
                a missing part of the batch that `needs` does not name. The message names the class.
        """
        name = type(self).__name__
        try:
            output: Any = super().__call__(batch)
        except (AttributeError, TypeError) as error:
            if part := _undeclared_part(self, batch, error):
                needs = ", ".join(f'"{entry}"' for entry in sorted({*self.needs, part}))
                raise InputError(
                    f"{name}: Expected `needs` to name {part}, which the loss uses, but it does not. Add "
                    f"`needs = frozenset({{{needs}}})` to the class."
                ) from error
            raise
        if not isinstance(output, ObjectiveOutput):
            raise InputError(
                f"{name}: Expected `forward` to return an ObjectiveOutput but got {type(output).__name__}."
            )
        if output.loss.ndim:
            shape = tuple(output.loss.shape)
            raise InputError(f"{name}: Expected a loss of shape () but got {shape}. Average it with `self.reduce`.")
        check_logs(self, output.logs)
        if output.loss.requires_grad or not len(batch.rewards):
            return output._replace(loss=output.loss + 0.0 * batch.rewards.sum())
        return output

    def reduce(self, losses: Tensor, count: int | Tensor | None = None) -> Tensor:
        """Return the mean or the sum of n losses, (n, ...) to (...); 0 if there are none.

        In distributed training, the mean over ranks of the result is the mean (or sum) over the losses of all ranks,
        although ranks have different numbers of losses. Every rank must call this equally often.

        Args:
            losses: The losses of this rank.
            count: Divisor of the mean in place of n, such as the number of candidates that have several losses.
        """
        if self.reduction == "sum":
            return losses.sum(0) * world_size()
        return (losses / mean_count_per_rank(len(losses) if count is None else count, losses.device)).sum(0)

    def update_weighting(self, batch: RewardBatch) -> None:
        """In training, update the weighting with the predicted and the actual order of each pair, per criterion.

        Subclasses that implement `forward` call this once per batch, after they used the weights.
        """
        if self.training:
            accepted, rejected, margin = gather_pairs(batch)
            self.weighting.update(*ranking_losses.pairwise_order_labels((accepted - rejected).detach(), margin))

    def reduce_by_criterion(self, name: str, losses: Tensor) -> dict[str, Tensor]:
        """Return logs of (n, N) losses: their weighted mean as "name", and "name/j" per criterion; reduced over n."""
        reduced = self.reduce(losses.detach())
        return {f"{name}/{j}": value for j, value in enumerate(reduced)} | {name: self.weighting(reduced)}


def _undeclared_part(objective: Objective, batch: RewardBatch, error: Exception) -> str | None:
    """Return the missing part of a batch that caused an error on None: code in the traceback names this part."""
    if "NoneType" not in str(error):
        return None
    names = {name for frame, _ in walk_tb(error.__traceback__) for name in frame.f_code.co_names}
    missing = (part for part in OptionalPart if part not in objective.needs and getattr(batch, part) is None)
    return next((part.value for part in missing if part in names), None)


def check_logs(owner: nn.Module, logs: Mapping[str, Tensor]) -> None:
    """Check that an objective logs scalars, under keys that the training module does not use.

    Raises:
        InputError: If the check fails. The message names the class and the key.
    """
    for key, value in logs.items():
        name = type(owner).__name__
        if key in RESERVED_LOGS:
            raise InputError(f"{name}: Expected a log key other than {key!r}, which `fit` logs itself. Rename it.")
        if not isinstance(value, Tensor) or value.ndim:
            got = f"the shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise InputError(f"{name}: Expected the log {key!r} to be a tensor of shape () but got {got}.")


def require_objects(owner: nn.Module, values: Sequence[object], kind: type, name: str, annotation: str) -> None:
    """Check that constructor arguments are objects: an untyped parameter gets the names in a configuration.

    Raises:
        TypeError: If one is no `kind`. The message names the class, the parameter and its annotation.
    """
    if not all(isinstance(value, kind) for value in values):
        got = "names" if any(isinstance(value, str | dict) for value in values) else "others"
        raise TypeError(
            f"{type(owner).__name__}: Expected objects as `{name}` but got {got}; annotate the parameter with "
            f"`{annotation}`."
        )


def require_part(batch: RewardBatch, part: OptionalPart, objective: Objective) -> Any:
    """Return an optional part of a batch.

    Raises:
        InputError: If the part is None. The message names the objective and the part.
    """
    value = getattr(batch, part)
    if value is None:
        raise InputError(f"{type(objective).__name__}: Expected a batch with `{part}` but it has none.")
    return value


class PairObjective(Objective):
    """A loss on pairs of an accepted and a rejected report of the same reference.

    Subclasses implement `pair_loss` only.

    >>> class SquaredMargin(PairObjective):
    ...     def pair_loss(self, accepted, rejected, margin):
    ...         return self.weighting((accepted - rejected - margin) ** 2)
    >>> rewards, targets = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> batch = RewardBatch(rewards, targets, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
    >>> SquaredMargin()(batch).loss
    tensor(1.)
    """

    @abstractmethod
    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """Return the loss of each pair; called once per batch, also with P = 0.

        Args:
            accepted: (P, N) rewards of the better reports.
            rejected: (P, N) rewards of the worse reports.
            margin: (P, N) target rewards of the accepted minus those of the rejected report, in the dtype of the
                rewards; may be negative for a criterion, and its sum is positive.

        Returns:
            (P,) losses.
        """

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        """Return the reduced loss of the pairs, and update the weighting.

        Raises:
            InputError: If `pair_loss` does not return one loss per pair. The message names the class.
        """
        losses = self.pair_loss(*gather_pairs(batch))
        if losses.shape != batch.pairs.shape[:1]:
            name, shape = type(self).__name__, tuple(losses.shape)
            raise InputError(f"{name}: Expected `pair_loss` to return ({len(batch.pairs)},) losses but got {shape}.")
        output = ObjectiveOutput(self.reduce(losses), self.weighting.logs())
        self.update_weighting(batch)
        return output


class CriterionAndTotalObjective(Objective):
    """An objective with one term per criterion and one for their total: L = L_ind + λ·L_tot.

    Subclasses implement `loss_terms`. Logged: L_ind as `individual`, λ·L_tot as `total`, which add up to the loss, and
    `individual/j` per criterion.

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
        """Return the reduced loss L, and update the weighting."""
        individual, total = self.loss_terms(batch)
        logs = self.weighting.logs()
        terms = []
        if self.use_criteria:
            terms.append(self.reduce(self.weighting(individual)))
            logs |= self.reduce_by_criterion("individual", individual)
        if self.use_total:
            terms.append(self.reduce(self.lambda_ * total))
            logs["total"] = terms[-1].detach()
        self.update_weighting(batch)
        return ObjectiveOutput(torch.stack(terms).sum(), logs)
