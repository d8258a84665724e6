"""Assertions of the conformance suites."""

from __future__ import annotations

import torch
from torch import Tensor


def require(condition: bool, message: str) -> None:
    """Raise an AssertionError unless the condition holds, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def require_close(actual: Tensor, expected: Tensor, message: str) -> None:
    """Raise an AssertionError unless two tensors are equal up to rounding."""
    torch.testing.assert_close(actual, expected, msg=lambda difference: f"{message}\n{difference}")
