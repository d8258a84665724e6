"""The reference policy of a KL divergence: the model as it was at the start of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class ReferencePolicy(nn.Module):
    """A frozen copy of a policy; it has own trainable weights, such as adapters, and shares all frozen weights.

    Args:
        policy: The policy to copy.

    >>> policy = nn.Linear(1, 1, bias=False)
    >>> reference, start = ReferencePolicy(policy), policy.weight.item()
    >>> _ = nn.init.constant_(policy.weight, 7.0)
    >>> with torch.no_grad(), reference.replacing(policy):
    ...     policy.weight.item() == start
    True
    >>> policy.weight.item()
    7.0
    """

    def __init__(self, policy: nn.Module) -> None:
        super().__init__()
        copies = (nn.Parameter(value.detach().clone(), requires_grad=False) for value in _trainable(policy))
        self.weights = nn.ParameterList(copies)

    @torch.no_grad()
    def copy_from(self, policy: nn.Module) -> None:
        """Copy the current weights of the policy."""
        for own, value in zip(self.weights, _trainable(policy), strict=True):
            own.copy_(value)

    @contextmanager
    def replacing(self, policy: nn.Module) -> Iterator[None]:
        """Swap the weights of the policy for those of the reference inside a `with` block; no memory is copied.

        Raises:
            RuntimeError: If gradients are enabled.
        """
        if torch.is_grad_enabled():
            raise RuntimeError("Expected gradients to be disabled while the reference replaces the policy.")
        self._swap(policy)
        try:
            yield
        finally:
            self._swap(policy)

    def _swap(self, policy: nn.Module) -> None:
        for own, value in zip(self.weights, _trainable(policy), strict=True):
            own.data, value.data = value.data, own.data


def _trainable(model: nn.Module) -> Iterator[Tensor]:
    return (value for value in model.parameters() if value.requires_grad)
