"""Pairs of candidates of one reference, and their margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from radreward.types import RewardBatch


def make_pairs(totals: Tensor, group: Tensor) -> Tensor:
    """Return the pairs of candidates of one group with different totals (ER²Score, section 3.2).

    The candidate with the higher total is accepted.

    Args:
        totals: (C,) totals of the target rewards, higher is better.
        group: (C,) index of each candidate's reference.

    Returns:
        (P, 2) int64: accepted, rejected; ordered by accepted, then rejected.

    Raises:
        ValueError: If the shapes differ or a total is NaN.

    >>> import torch
    >>> make_pairs(torch.tensor([0.0, -2.0, -2.0, -1.0]), torch.tensor([0, 0, 0, 1])).tolist()
    [[0, 1], [0, 2]]
    """
    if totals.ndim != 1 or totals.shape != group.shape:
        raise ValueError(
            f"Expected `totals` and `group` to be (C,) but got {tuple(totals.shape)}, {tuple(group.shape)}."
        )
    if totals.isnan().any():
        raise ValueError("Expected `totals` to be numbers but got NaN.")
    return ((totals[:, None] > totals) & (group[:, None] == group)).nonzero()


class RewardPairs(NamedTuple):
    """Rewards of P pairs and the margins by which their target rewards differ."""

    accepted: Tensor
    """(P, N) rewards of the better reports."""
    rejected: Tensor
    """(P, N) rewards of the worse reports."""
    margin: Tensor
    """(P, N) target rewards, accepted report minus rejected report, in the dtype of the rewards."""


def gather_pairs(batch: RewardBatch) -> RewardPairs:
    """Return the rewards and margins of the pairs of a batch."""
    accepted, rejected = batch.pairs.unbind(1)
    margin = (batch.targets[accepted] - batch.targets[rejected]).to(batch.rewards.dtype)
    return RewardPairs(batch.rewards[accepted], batch.rewards[rejected], margin)


def reward_margins(rewards: Tensor, targets: Tensor, group: Tensor) -> Tensor:
    """Return the reward of the better candidate minus the reward of the worse one, for all pairs within a group.

    Args:
        rewards: (C, N).
        targets: (C, N) target rewards.
        group: (C,) index of the reference.

    Returns:
        (P, N) differences per criterion, > 0 if the order is correct; NaN if neither candidate is better.

    >>> import torch
    >>> rewards, targets = torch.tensor([[1.0, 0.0], [0.5, 3.0]]), torch.tensor([[0.0, 0.0], [-1.0, 0.0]])
    >>> reward_margins(rewards, targets, torch.tensor([7, 7]))
    tensor([[0.5000,    nan]])
    """
    first, second = (group[:, None] == group[None]).triu(diagonal=1).nonzero().T
    better = (targets[first] - targets[second]).sign()
    return ((rewards[first] - rewards[second]) * better).masked_fill(better == 0, float("nan"))
