"""Pairs of candidates."""

from __future__ import annotations

from torch import Tensor


def make_pairs(totals: Tensor, group: Tensor) -> Tensor:
    """Return the pairs of candidates of a group with different totals; the higher is accepted (ER²Score, section 3.2).

    Args:
        totals: (C,) total quality, higher is better.
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
