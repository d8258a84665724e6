"""Base class of metrics per criterion and in total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric


class SubScoreMetric(Metric):
    """A metric of predictions against targets, per criterion and for the total over criteria.

    Args:
        tags: Tags of the criteria in order (`Criteria.tags`), which name the results. Without tags, `update` takes (n,)
            totals.
        kwargs: See `torchmetrics.Metric`.

    Raises:
        ValueError: If a tag occurs twice, or is "total".
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = True

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.names = (*tags, "total")
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"Expected `tags` to be different from each other and from 'total' but got {list(tags)}.")

    def _with_total(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Append the total as the last column of predictions and targets, (n, N + 1) float64 each.

        Raises:
            ValueError: If they are not (n, N), or (n,) without tags.
        """
        shape = (len(preds), len(self.names) - 1) if len(self.names) > 1 else (len(preds),)
        if preds.shape != shape or target.shape != shape:
            raise ValueError(
                f"Expected predictions and targets of shape {shape} but got {tuple(preds.shape)} "
                f"and {tuple(target.shape)}."
            )
        preds, target = preds.detach().double(), target.detach().double()
        if len(shape) == 1:
            return preds[:, None], target[:, None]
        # In float64, sums of a few float32 values are exact, so equal totals stay equal.
        return (
            torch.cat([preds, preds.sum(1, keepdim=True)], 1),
            torch.cat([target, target.sum(1, keepdim=True)], 1),
        )

    def _by_name(self, values: Tensor) -> dict[str, Tensor]:
        """Map the (N + 1,) values to the names of the criteria and "total"."""
        return dict(zip(self.names, values, strict=True))
