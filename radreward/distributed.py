"""Numbers over all processes of a training run; one process alone is left as it is.

Processes that train together average their gradients, while each of them has another number of pairs. So a mean of
losses divides by the mean number of losses of a process, not by its own: then the average over the processes is the
mean over all losses. Every function here has to be called by all processes equally often.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed

from radreward.errors import InputError


def world_size() -> int:
    """How many there are."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def all_reduce_sum(values: Tensor) -> Tensor:
    """Sum over the processes, same shape.

    >>> total(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    if world_size() == 1:
        return values
    summed = values.detach().clone()
    distributed.all_reduce(summed)
    return summed


def mean_count_per_rank(count: int, device: torch.device) -> Tensor:
    """() float32: what each process has on average, at least 1 in all.

    >>> mean_number(0, torch.device("cpu"))
    tensor(1.)
    """
    return all_reduce_sum(torch.tensor(float(count), device=device)).clamp(min=1.0) / world_size()


def all_reduce_mean(scalars: dict[str, Tensor], weight: float = 1.0) -> dict[str, Tensor]:
    """Mean of each () value over the processes; all of them have the same names in the same order.

    Args:
        scalars: Values by name, each over what this process has.
        weight: How much that is, where processes have unlike amounts.

    >>> mean({"length": torch.tensor(3.0)}, weight=8)
    {'length': tensor(3.)}
    """
    if world_size() == 1:
        return scalars
    values = torch.stack([value.detach().double() for value in scalars.values()])
    *sums, amount = all_reduce_sum(torch.cat([values * weight, values.new_tensor([weight])]))
    return {name: (value / amount).float() for name, value in zip(scalars, sums, strict=True)}


@contextmanager
def raise_on_all_ranks(device: torch.device) -> Iterator[None]:
    """Where one process finds that it cannot go on, none does: the others would wait for it for ever.

    Raises:
        InputError: Of this process, or that another has one.
    """
    try:
        yield
    except InputError:
        all_reduce_sum(torch.ones((), device=device))
        raise
    if all_reduce_sum(torch.zeros((), device=device)):
        raise InputError("Another process cannot go on: what is wrong stands in its own message.")
