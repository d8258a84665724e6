"""Precisions in which models compute and weights are saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import torch
from torch import nn

from radreward.errors import InputError, check_choice

Precision = Literal["fp32", "bf16"]
"""Precision of a backbone in use: that of its weights, or bfloat16."""
_BF16_CAPABILITIES = ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16")


def check_precision(
    precision: str, device: torch.device | None = None, capabilities: Mapping[str, Any] | None = None
) -> None:
    """Check that a device computes fast in a precision.

    Args:
        precision: Name of the precision.
        device: Device of the model; defaults to the CPU.
        capabilities: Capabilities of the CPU; defaults to those of this machine.

    Raises:
        ValueError: If there is no such precision.
        InputError: If the device has no bfloat16 products: it would compute them more slowly than in float32.
    """
    check_choice("precision", precision, get_args(Precision))
    if precision == "fp32" or (device is not None and device.type != "cpu"):
        return
    if capabilities is None and not hasattr(torch.cpu, "get_capabilities"):
        raise InputError("precision: Expected torch 2.11 or newer for bf16 on a CPU. Use --precision fp32.")
    if not has_bfloat16_products(capabilities):
        raise InputError(
            "precision: Expected fp32, because this CPU has no bfloat16 products (AMX or AVX512-BF16), but got bf16. "
            "Use --precision fp32."
        )


def require_fp32(precision: str, name: str) -> None:
    """Raise an error unless a scorer that computes in float32 only is to do so.

    Raises:
        InputError: For another precision.
    """
    if precision != "fp32":
        raise InputError(
            f"precision: Expected fp32 for {name} but got {precision}. The precision is that of all scorers of a run: "
            "use --precision fp32, or score by others apart."
        )


def has_bfloat16_products(capabilities: Mapping[str, Any] | None = None) -> bool:
    """Return True if this CPU multiplies bfloat16 numbers; in software, they are many times slower than float32.

    Args:
        capabilities: Capabilities of the CPU; defaults to those of this machine, which torch reports from 2.11 on.
    """
    if capabilities is None:
        capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(capabilities.get(name) for name in _BF16_CAPABILITIES)


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
