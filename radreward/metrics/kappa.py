"""Agreement of two raters on classes beyond chance: Cohen's κ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

KappaWeights = Literal["linear", "quadratic"] | None


def confusion_matrix(preds: Tensor, target: Tensor, classes: Sequence[float]) -> Tensor:
    """Count the pairs of classes assigned by two raters.

    Args:
        preds: (n,) classes of the first rater.
        target: (n,) classes of the second rater.
        classes: K classes in order.

    Returns:
        (K, K) int64; rows are classes of `target`, columns of `preds`.

    Raises:
        ValueError: If a class occurs twice, a value is not a class, or the shapes are not (n,) both.

    >>> confusion_matrix(torch.tensor([1.0, 0.5, 0.0]), torch.tensor([1.0, 1.0, 0.0]), (0.0, 0.5, 1.0))
    tensor([[1, 0, 0],
            [0, 0, 0],
            [0, 1, 1]])
    """
    if len(set(classes)) < len(classes) or not classes:
        raise ValueError(f"Expected `classes` to be different from each other but got {list(classes)}.")
    if preds.ndim != 1 or preds.shape != target.shape:
        raise ValueError(f"Expected (n,) classes of two raters but got {tuple(preds.shape)} and {tuple(target.shape)}.")
    ordered = torch.tensor(classes, dtype=torch.float64, device=preds.device)
    indices = []
    for values in (target, preds):
        equal = values.detach().double()[:, None] == ordered  # (n, K)
        if not bool(equal.any(1).all()):
            invalid = values[~equal.any(1)][0].item()
            raise ValueError(f"Expected values of {list(classes)} but got {invalid:g}.")
        indices.append(equal.double().argmax(1))
    size = len(classes)
    return torch.bincount(indices[0] * size + indices[1], minlength=size * size).reshape(size, size)


def cohen_kappa(counts: Tensor, weights: KappaWeights = None) -> Tensor:
    """Return Cohen's κ of a confusion matrix: 1 - Σ w·observed / Σ w·expected, with disagreement weights w.

    For classes at positions i and j, w is 0 if i = j, else 1 (None), ``|i - j|`` (linear) or (i - j)² (quadratic)
    (Cohen, 1960 and 1968). Expected counts are those of independent raters with the same marginals.

    Args:
        counts: (K, K) confusion matrix.
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
