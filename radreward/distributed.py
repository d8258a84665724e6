"""Reductions over the ranks of a distributed run; in a single process they return their input.

Ranks average their gradients but hold different numbers of losses, so a mean over losses divides by the mean count per
rank: the average over ranks is then the mean over all losses. Every rank must call these functions equally often.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed

from radreward.errors import InputError


def world_size() -> int:
    """Return the number of ranks."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def all_reduce_sum(values: Tensor) -> Tensor:
    """Return the sum over ranks, with the same shape.

    >>> all_reduce_sum(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    if world_size() == 1:
        return values
    summed = values.detach().clone()
    distributed.all_reduce(summed)
    return summed


def mean_count_per_rank(count: int | Tensor, device: torch.device) -> Tensor:
    """Return the mean count per rank as a () float32 tensor; the sum over ranks is clamped to at least 1.

    >>> mean_count_per_rank(0, torch.device("cpu"))
    tensor(1.)
    """
    # A number is filled in on the device: to copy it there would wait for the device.
    counts = count.float().to(device) if isinstance(count, Tensor) else torch.full((), float(count), device=device)
    return all_reduce_sum(counts).clamp(min=1.0) / world_size()


def mean_over_ranks(mean: Tensor, count: int) -> Tensor:
    """Return this rank's contribution to the mean over the items of all ranks, such as tokens.

    `mean` is the () mean over the `count` items of this rank. Ranks hold different numbers of items; the mean of the
    contributions over ranks is the mean over all items.

    >>> mean_over_ranks(torch.tensor(3.0), 8)
    tensor(3.)
    """
    return mean * (count / mean_count_per_rank(count, mean.device))


def all_reduce_mean(scalars: dict[str, Tensor], weight: float = 1.0) -> dict[str, Tensor]:
    """Return the weighted mean of each () value over ranks; all ranks must pass the same names in the same order.

    The weight of a rank is, for example, its number of samples.

    >>> all_reduce_mean({"length": torch.tensor(3.0)}, weight=8)
    {'length': tensor(3.)}
    """
    if world_size() == 1:
        return scalars
    values = torch.stack([value.detach().double() for value in scalars.values()])
    *sums, total_weight = all_reduce_sum(torch.cat([values * weight, values.new_tensor([weight])]))
    return {name: (value / total_weight).float() for name, value in zip(scalars, sums, strict=True)}


@contextmanager
def raise_on_all_ranks(device: torch.device) -> Iterator[None]:
    """Raise on every rank if the body raises an `InputError` on any of them, instead of waiting forever.

    Raises:
        InputError: The error of this rank, or a notice that another rank failed.
    """
    try:
        yield
    except InputError:
        all_reduce_sum(torch.ones((), device=device))
        raise
    if all_reduce_sum(torch.zeros((), device=device)):
        raise InputError("Another rank failed; see its error message.")
