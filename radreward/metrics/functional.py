"""Statistics of agreement as pure functions; float64, NaN where they are not defined."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy import stats
from torch import Tensor


def kendall_tau_b(preds: Tensor, target: Tensor) -> Tensor:
    """Kendall's rank correlation τ-b, with ties (scipy's, O(n log n)).

    Args:
        preds: (n,) or (n, M) predictions.
        target: Of the same shape.

    Returns:
        () or (M,) float64 in [-1, 1]; NaN for fewer than two values, a constant side or a NaN among the values.

    Raises:
        ValueError: If the shapes differ or have more than two dimensions.

    >>> kendall_tau_b(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(0.6667, dtype=torch.float64)
    """
    return _columnwise(lambda x, y: float(stats.kendalltau(x, y).statistic), preds, target)


def spearman(preds: Tensor, target: Tensor) -> Tensor:
    """Spearman's rank correlation ρ: Pearson's of the ranks, ties at their mean rank (scipy's).

    Args:
        preds: (n,) or (n, M) predictions.
        target: Of the same shape.

    Returns:
        () or (M,) float64 in [-1, 1]; NaN for fewer than two values, a constant side or a NaN among the values.

    Raises:
        ValueError: If the shapes differ or have more than two dimensions.

    >>> spearman(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(0.8000, dtype=torch.float64)
    """
    return _columnwise(lambda x, y: float(stats.spearmanr(x, y).statistic), preds, target)


def within_group_tau(preds: Tensor, target: Tensor, group: Tensor) -> Tensor:
    """Kendall's τ-b within every group and column, all groups at once.

    Args:
        preds: (C, M) predictions.
        target: (C, M) targets.
        group: (C,) which reference.

    Returns:
        (G, M) float64, the groups in ascending order of their number; NaN where a side is constant in the group,
        or a value is NaN.

    Raises:
        ValueError: If the shapes do not fit.

    >>> x, y = torch.tensor([[1.0], [2.0], [1.0], [2.0]]), torch.tensor([[1.0], [2.0], [2.0], [1.0]])
    >>> within_group_tau(x, y, torch.tensor([0, 0, 1, 1]))
    tensor([[ 1.],
            [-1.]], dtype=torch.float64)
    """
    x, y = _pair_signs(preds, target, group)
    # Every pair is there twice, above and below the line: the factors of 2 cancel.
    return (x * y).sum((1, 2)) / (x.abs().sum((1, 2)) * y.abs().sum((1, 2))).sqrt()


def count_concordant_pairs(preds: Tensor, target: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """How many pairs of the same group are ordered right, and of how many with different targets, by column.

    Equal predictions, and a NaN among them, are not right.

    Args:
        preds: (C, M) predictions.
        target: (C, M) targets.
        group: (C,) which reference.

    Returns:
        Pairs ordered right and pairs with different targets, (M,) int64 each.

    Raises:
        ValueError: If the shapes do not fit.

    >>> x, y = torch.tensor([[1.0], [2.0], [2.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    >>> pair_order(x, y, torch.tensor([0, 0, 0]))
    (tensor([2]), tensor([3]))
    """
    x, y = _pair_signs(preds, target, group)
    return (x * y > 0).sum((0, 1, 2)) // 2, (y != 0).sum((0, 1, 2)) // 2


def _pair_signs(preds: Tensor, target: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """Signs of the differences of all pairs of each group, (G, K, K, M) float64 for groups of up to K.

    The groups are laid out as rows of one length, so that thousands of small groups take no loop; a pair with an
    empty place has sign 0, as a pair of equal values does.
    """
    if preds.shape != target.shape or preds.ndim != 2 or group.shape != preds.shape[:1]:
        raise ValueError(
            f"Expected (C, M) predictions and targets and (C,) groups but got {tuple(preds.shape)}, "
            f"{tuple(target.shape)} and {tuple(group.shape)}."
        )
    _, index, sizes = torch.unique(group, return_inverse=True, return_counts=True)
    order = index.argsort(stable=True)
    row = index[order]  # (C,)
    place = torch.arange(len(row), device=row.device) - (sizes.cumsum(0) - sizes)[row]  # within the group
    taken = torch.zeros(len(sizes), int(sizes.max()) if len(sizes) else 0, dtype=torch.bool, device=row.device)
    taken[row, place] = True
    both = (taken[:, :, None] & taken[:, None])[..., None]  # (G, K, K, 1)

    def signs(values: Tensor) -> Tensor:
        grid = torch.zeros(*taken.shape, values.shape[1], dtype=torch.float64, device=values.device)
        grid[row, place] = values[order].double()
        return torch.where(both, (grid[:, :, None] - grid[:, None]).sign(), 0.0)

    return signs(preds), signs(target)


def _columnwise(statistic: Callable[[np.ndarray, np.ndarray], float], preds: Tensor, target: Tensor) -> Tensor:
    """A statistic of two vectors, column by column; NaN where it is not defined, without a warning."""
    if preds.shape != target.shape or preds.ndim not in (1, 2):
        raise ValueError(
            f"Expected predictions and targets of one shape, (n,) or (n, M), "
            f"but got {tuple(preds.shape)} and {tuple(target.shape)}."
        )
    x, y = (values.detach().double().cpu().numpy() for values in (preds, target))
    if x.ndim == 1:
        return preds.new_tensor(_statistic_or_nan(statistic, x, y), dtype=torch.float64)
    values = [_statistic_or_nan(statistic, x[:, column], y[:, column]) for column in range(x.shape[1])]
    return preds.new_tensor(values, dtype=torch.float64)


def _statistic_or_nan(statistic: Callable[[np.ndarray, np.ndarray], float], x: np.ndarray, y: np.ndarray) -> float:
    # Also true of an empty side: a maximum needs an `initial`, the comparison with the first value does not.
    constant = bool((x == x[:1]).all() or (y == y[:1]).all())
    return math.nan if constant or np.isnan(x).any() or np.isnan(y).any() else statistic(x, y)
