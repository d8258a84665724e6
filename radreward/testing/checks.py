"""Assertions of the conformance suites."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from radreward.objectives.base import RESERVED_LOGS
from radreward.types import ObjectiveOutput


def require(condition: bool, message: str) -> None:
    """Raise an AssertionError unless the condition holds, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def require_close(actual: Tensor, expected: Tensor, message: str) -> None:
    """Raise an AssertionError unless two tensors are equal up to rounding."""
    torch.testing.assert_close(actual, expected, msg=lambda difference: f"{message}\n{difference}")


def require_finite_loss(output: ObjectiveOutput) -> None:
    """Raise an AssertionError unless the loss is a finite scalar and the logs are finite detached scalars."""
    require(output.loss.ndim == 0, f"the loss must be a scalar but has the shape {tuple(output.loss.shape)}")
    require(bool(output.loss.isfinite()), "the loss must be finite")
    require_finite_logs(output.logs)


def require_finite_logs(logs: Mapping[str, Tensor]) -> None:
    """Raise an AssertionError unless the logs are finite detached scalars whose keys are not reserved."""
    for name, value in logs.items():
        require(name not in RESERVED_LOGS, f"log {name!r} has a reserved key: `fit` logs it itself")
        require(value.ndim == 0 and not value.requires_grad, f"log {name!r} must be a detached scalar")
        require(bool(value.isfinite()), f"log {name!r} must be finite")


def require_equal_states(before: Mapping[str, Tensor], after: Mapping[str, Tensor], message: str) -> None:
    """Raise an AssertionError unless two state dicts are equal."""
    equal = before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)
    require(equal, message)
