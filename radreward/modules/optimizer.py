"""AdamW with linear warm-up and cosine decay, the optimizer of every module."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn


class AdamWConfig:
    """Learning rates and schedule: AdamW with linear warm-up and cosine decay to zero.

    Args:
        lr: Peak learning rate.
        head_lr: Peak learning rate of randomly initialized parts (pooling, head); defaults to `lr`.
        weight_decay: Weight decay of matrices; biases and norms have none.
        warmup_ratio: Fraction of the steps in which the rate rises.

    Raises:
        ValueError: If a value is out of its range.
    """

    def __init__(
        self, lr: float = 1e-4, head_lr: float | None = None, weight_decay: float = 0.01, warmup_ratio: float = 0.05
    ) -> None:
        for name, value in (("lr", lr), ("head_lr", lr if head_lr is None else head_lr)):
            if not value > 0:
                raise ValueError(f"Expected `{name}` to be > 0 but got {value}.")
        if weight_decay < 0:
            raise ValueError(f"Expected `weight_decay` to be >= 0 but got {weight_decay}.")
        if not 0 <= warmup_ratio < 1:
            raise ValueError(f"Expected `warmup_ratio` to be in [0, 1) but got {warmup_ratio}.")
        self.lr = lr
        self.head_lr = lr if head_lr is None else head_lr
        self.weight_decay = weight_decay
        self.warmup_ratio = warmup_ratio

    def lr_factor(self, step: int, total_steps: int) -> float:
        """Return the learning rate of a step as a fraction of the peak.

        >>> [round(AdamWConfig(warmup_ratio=0.5).lr_factor(step, 4), 2) for step in range(4)]
        [0.5, 1.0, 1.0, 0.5]
        """
        warmup_steps = max(1, round(self.warmup_ratio * total_steps))
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))))

    def build(
        self, module: nn.Module, new_modules: Sequence[nn.Module], total_steps: int
    ) -> OptimizerLRSchedulerConfig:
        """Return the optimizer of a module's trainable parameters and the schedule, stepped every batch.

        There are up to four groups of parameters: in `new_modules` or not, each with and without weight decay.
        Parameters of `new_modules` learn at `head_lr`.
        """
        new = {id(parameter) for part in new_modules for parameter in part.parameters()}
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for parameter in module.parameters():
            if parameter.requires_grad:
                rate = self.head_lr if id(parameter) in new else self.lr
                decay = self.weight_decay if parameter.ndim > 1 else 0.0
                groups.setdefault((rate, decay), []).append(parameter)
        optimizer = torch.optim.AdamW(
            [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.lr_factor(step, total_steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
