"""Rounding of trained weights to the precision in which they are saved."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def round_to_float16(module: nn.Module) -> None:
    """Round trainable parameters, in place, to values that float16 holds, so that metrics describe the saved model.

    >>> layer = nn.Linear(1, 1)
    >>> _ = nn.init.constant_(layer.weight, 0.1)
    >>> round_to_float16(layer)
    >>> layer.weight.item()
    0.0999755859375
    """
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.copy_(parameter.half())
