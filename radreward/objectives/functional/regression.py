"""Regression of the weights of findings."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def findings_regression_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the mean Huber loss (δ = 1) of the matched and wrong weights of findings.

    Weights differ by less than 1 mostly, where the loss is ½e² and its minimum the expected weight.

    Args:
        predicted: (C, 2).
        target: (C, 2); unknown rows (NaN) are left out, and without a known one the loss is 0.

    >>> target = torch.tensor([[1.0, 0.0], [torch.nan, torch.nan]])
    >>> findings_regression_loss(torch.zeros(2, 2), target)  # (½ · 1² + 0) / 2
    tensor(0.2500)
    """
    known = target.isfinite()
    # Masked by a product, so that every parameter has a gradient: DDP waits for all of them.
    losses = F.huber_loss(predicted, torch.where(known, target, predicted.detach()), reduction="none") * known
    return losses.sum() / known.sum().clamp_min(1)
