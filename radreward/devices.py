"""The device on which a model computes: CUDA, MPS or the CPU; the cores of the CPU."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
from torch import Tensor

from radreward.errors import InputError

AUTO = "auto"
"""Name of the best device of this machine: the first CUDA GPU, else MPS (Apple), else the CPU."""


def available_devices() -> list[str]:
    """Return the names of the devices of this machine, the best first; the last is the CPU.

    >>> available_devices()[-1]
    'cpu'
    """
    return list(_available_devices())


def _available_devices() -> Iterator[str]:
    if torch.cuda.is_available():
        yield from (f"cuda:{index}" for index in range(torch.cuda.device_count()))
    if torch.backends.mps.is_available():
        yield "mps"
    yield "cpu"


def resolve_device(device: str | torch.device = AUTO) -> torch.device:
    """Return a device of this machine. Every scorer resolves the name of its device here.

    Args:
        device: "auto", or a name of PyTorch, such as "cuda", "cuda:1", "mps" or "cpu".

    Raises:
        InputError: If this machine has no such device. The message lists those it has.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == AUTO:
        return torch.device(available_devices()[0].partition(":")[0])  # the current GPU, that of a rank in training
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (AssertionError, RuntimeError, TypeError) as error:  # AssertionError: PyTorch without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        because = "" if reason.startswith("Expected one of") else f": {reason}"  # PyTorch lists all kinds of devices
        raise InputError(
            f"device: Expected auto or a device of this machine ({', '.join(available_devices())}) but got "
            f"{str(device)!r}{because}."
        ) from error
    if found.type == "meta":
        raise InputError("device: Expected a device that computes but got 'meta', whose tensors have no values.")
    return found


def copy_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a small tensor of the CPU on a device; a GPU copies it while it computes.

    >>> copy_to(torch.arange(2), torch.device("cpu"))
    tensor([0, 1])
    """
    return tensor.to(device, non_blocking=device.type == "cuda")  # on MPS, the copy could read freed memory


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
