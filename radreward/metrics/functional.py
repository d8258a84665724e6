"""Agreement statistics as pure functions; results are float64, and NaN if undefined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from scipy import stats
from torch import Tensor


def kendall_tau_b(preds: Tensor, target: Tensor) -> Tensor:
    """Return Kendall's rank correlation τ-b, computed by scipy in O(n log n) steps.

    Args:
        preds: (n,) or (n, M) predictions.
        target: Targets of the same shape.

    Returns:
        () or (M,) float64 in [-1, 1]; NaN for fewer than two values, a constant side or a NaN among the values.

    Raises:
        ValueError: If the shapes differ or have more than two dimensions.

    >>> kendall_tau_b(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(0.6667, dtype=torch.float64)
    """
    return _columnwise(lambda x, y: float(stats.kendalltau(x, y).statistic), preds, target)


def spearman(preds: Tensor, target: Tensor) -> Tensor:
    """Return Spearman's rank correlation ρ, which is Pearson's r of the ranks; ties get their mean rank.

    Args:
        preds: (n,) or (n, M) predictions.
        target: Targets of the same shape.

    Returns:
        () or (M,) float64 in [-1, 1]; NaN for fewer than two values, a constant side or a NaN among the values.

    Raises:
        ValueError: If the shapes differ or have more than two dimensions.

    >>> spearman(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(0.8000, dtype=torch.float64)
    """
    return _columnwise(lambda x, y: float(stats.spearmanr(x, y).statistic), preds, target)


def error_auc(preds: Tensor, has_error: Tensor) -> Tensor:
    """Return the area under the ROC curve: P(score without an error > score with one), with ties as one half.

    It does not depend on how many candidates have an error, while τ-b of a rare error is dominated by ties.

    Args:
        preds: (n,) or (n, M) scores, higher is better.
        has_error: True for candidates with an error, of the same shape.

    Returns:
        () or (M,) float64 in [0, 1]; NaN if all or no candidates have an error, all scores are equal or one is NaN.

    Raises:
        ValueError: If the shapes differ or have more than two dimensions.

    >>> error_auc(torch.tensor([3.0, 2.0, 2.0, 1.0]), torch.tensor([False, False, True, True]))
    tensor(0.8750, dtype=torch.float64)
    """
    return _columnwise(_auc, preds, has_error)


def _auc(scores: np.ndarray, has_error: np.ndarray) -> float:
    right = has_error == 0
    n_right, n_wrong = right.sum(), (~right).sum()
    return float((stats.rankdata(scores)[right].sum() - n_right * (n_right + 1) / 2) / (n_right * n_wrong))


def count_concordant_pairs(preds: Tensor, target: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """Count concordant and comparable pairs per group.

    A pair is comparable if its targets differ. It is concordant if predictions and targets also have the same order,
    so pairs with equal predictions or a NaN are not concordant.

    Args:
        preds: (C, M) predictions.
        target: (C, M) targets.
        group: (C,) group index.

    Returns:
        Concordant and comparable pairs, (G, M) int64 each, by ascending group index.

    Raises:
        ValueError: If the shapes do not match.

    >>> x, y = torch.tensor([[1.0], [2.0], [2.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    >>> count_concordant_pairs(x, y, torch.tensor([0, 0, 0]))
    (tensor([[2]]), tensor([[3]]))
    """
    if preds.shape != target.shape or preds.ndim != 2 or group.shape != preds.shape[:1]:
        raise ValueError(
            f"Expected (C, M) predictions and targets and (C,) groups but got {tuple(preds.shape)}, "
            f"{tuple(target.shape)} and {tuple(group.shape)}."
        )
    groups, index = torch.unique(group, return_inverse=True)
    order = index.argsort(stable=True)
    index, preds, target = index[order], preds[order].double(), target[order].double()
    concordant = torch.zeros(len(groups), preds.shape[1], dtype=torch.int64, device=preds.device)
    comparable = torch.zeros_like(concordant)
    for gap in range(1, len(index)):  # pairs of the same group whose sorted positions differ by `gap`
        same_group = index[gap:] == index[:-gap]
        if not same_group.any():
            break
        rows = index[gap:][same_group]
        target_sign = (target[gap:] - target[:-gap])[same_group].sign()
        pred_sign = (preds[gap:] - preds[:-gap])[same_group].sign()
        concordant.index_add_(0, rows, (pred_sign * target_sign > 0).long())
        comparable.index_add_(0, rows, (target_sign != 0).long())
    return concordant, comparable


def cohen_kappa(counts: Tensor, weights: Literal["linear", "quadratic"] | None = None) -> Tensor:
    """Return Cohen's κ of a confusion matrix: 1 - Σ w·observed / Σ w·expected, with disagreement weights w.

    For classes i and j, w is 0 if i = j, else 1 (None), ``|i - j|`` ("linear") or (i - j)² ("quadratic") (Cohen, 1960
    and 1968). The expected counts assume independent raters with the same marginals.

    Args:
        counts: (K, K) confusion matrix. scikit-learn's κ takes the classes of all items instead, which would all have
            to be in memory.
        weights: Disagreement weights.

    Returns:
        () float64, at most 1; NaN if both raters use the same single class, or the matrix is empty.

    Raises:
        ValueError: If the matrix is not square, or `weights` is unknown.

    >>> cohen_kappa(torch.tensor([[20, 5], [10, 15]]))
    tensor(0.4000, dtype=torch.float64)
    """
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"Expected a (K, K) confusion matrix but got {tuple(counts.shape)}.")
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"Expected `weights` to be linear, quadratic or None but got {weights!r}.")
    observed = counts.double()
    position = torch.arange(len(observed), dtype=torch.float64, device=observed.device)
    distance = (position[:, None] - position).abs()
    disagreement = {None: distance.sign(), "linear": distance, "quadratic": distance**2}[weights]
    expected = observed.sum(1)[:, None] * observed.sum(0) / observed.sum()
    return 1 - (disagreement * observed).sum() / (disagreement * expected).sum()


def _columnwise(statistic: Callable[[np.ndarray, np.ndarray], float], preds: Tensor, target: Tensor) -> Tensor:
    """Return a statistic of two vectors, or of each column; NaN without a warning if undefined."""
    if preds.shape != target.shape or preds.ndim not in (1, 2):
        raise ValueError(
            f"Expected predictions and targets of one shape, (n,) or (n, M), "
            f"but got {tuple(preds.shape)} and {tuple(target.shape)}."
        )
    x, y = (np.atleast_2d(values.detach().double().cpu().numpy().T) for values in (preds, target))
    values = [_statistic_or_nan(statistic, *columns) for columns in zip(x, y, strict=True)]
    return preds.new_tensor(values, dtype=torch.float64).reshape(preds.shape[1:])


def _statistic_or_nan(statistic: Callable[[np.ndarray, np.ndarray], float], x: np.ndarray, y: np.ndarray) -> float:
    constant = bool((x == x[:1]).all() or (y == y[:1]).all())  # also True for empty arrays
    return math.nan if constant or np.isnan(x).any() or np.isnan(y).any() else statistic(x, y)
