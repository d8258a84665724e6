"""Accuracies of predicted error counts as pure functions."""

from __future__ import annotations

from torch import Tensor


def gaussian_accuracy(values: Tensor, target: Tensor, sigma: float) -> Tensor:
    """Return exp(-(v - t)² / (2 σ²)) elementwise (RadReason, Eq. 5); 0 if v is NaN or infinite.

    Args:
        values: Predicted counts v; NaN if unparsable.
        target: Target counts t, broadcastable to `values`.
        sigma: Deviation at which the result has fallen to 0.607 (σ).

    >>> import torch
    >>> gaussian_accuracy(torch.tensor([2.0, 1.5, 1.0]), torch.tensor(2.0), 0.5)
    tensor([1.0000, 0.6065, 0.1353])
    """
    return (-(values - target).square() / (2 * sigma**2)).exp().nan_to_num(0.0)


def binary_accuracy(values: Tensor, target: Tensor) -> Tensor:
    """Return 1 where the rounded value equals the rounded target, else 0; 0 if the value is NaN.

    >>> import torch
    >>> binary_accuracy(torch.tensor([2.4, 1.0, float("nan")]), torch.tensor([2.0, 2.0, 0.0]))
    tensor([1., 0., 0.])
    """
    return (round_half_up(values) == round_half_up(target)).to(values.dtype)


def round_half_up(values: Tensor) -> Tensor:
    """Round to the nearest integer, halves upwards; NaN stays NaN.

    >>> import torch
    >>> round_half_up(torch.tensor([0.4, 0.5, 1.5]))
    tensor([0., 1., 2.])
    """
    return (values + 0.5).floor()
