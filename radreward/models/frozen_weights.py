"""A frozen copy of a model's trainable weights, which the model can use in place of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class FrozenWeights(nn.Module):
    """A copy of the trainable weights: adapters of a model with adapters, else all; frozen weights are shared.

    Args:
        model: The model to copy from.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> copy, start = FrozenWeights(layer), layer.weight.item()
    >>> _ = nn.init.constant_(layer.weight, 7.0)
    >>> with torch.no_grad(), copy.used_by(layer):
    ...     layer.weight.item() == start
    True
    >>> layer.weight.item()
    7.0
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        weights = (value.detach().clone() for value in _trainable(model))
        self.weights = nn.ParameterList(nn.Parameter(value, requires_grad=False) for value in weights)

    @torch.no_grad()
    def copy_from(self, model: nn.Module) -> None:
        """Copy the present weights of a model of the same form."""
        for copy, value in zip(self.weights, _trainable(model), strict=True):
            copy.copy_(value)

    @contextmanager
    def used_by(self, model: nn.Module) -> Iterator[None]:
        """Exchange the weights of a model of the same form for these, without copies; not while gradients are traced.

        Raises:
            RuntimeError: If gradients are enabled.
        """
        if torch.is_grad_enabled():
            raise RuntimeError("Expected gradients to be disabled while a model has other weights.")
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    def _exchange(self, model: nn.Module) -> None:
        for copy, value in zip(self.weights, _trainable(model), strict=True):
            copy.data, value.data = value.data, copy.data


def _trainable(model: nn.Module) -> Iterator[Tensor]:
    return (value for value in model.parameters() if value.requires_grad)
