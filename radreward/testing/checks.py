"""What a suite demands, with a message that says what is wrong."""

from __future__ import annotations

import torch
from torch import Tensor


def require(condition: bool, message: str) -> None:
    """An assertion that stays when Python is told to leave assertions out."""
    if not condition:
        raise AssertionError(message)


def require_close(actual: Tensor, expected: Tensor, message: str) -> None:
    """An assertion on tensors, within rounding."""
    torch.testing.assert_close(actual, expected, msg=lambda difference: f"{message}\n{difference}")
