"""Deviation of predicted from target error counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from radreward.metrics.sub_score_metric import SubScoreMetric


class CountError(SubScoreMetric):
    """Mean and standard deviation of the absolute error of predicted counts, and accuracy of the rounded counts.

    They are computed per criterion and for the total count. The standard deviation divides by n. Halves are rounded to
    even.

    >>> metric = CountError()
    >>> metric.update(torch.tensor([1.2, 0.0]), torch.tensor([1.0, 2.0]))
    >>> {name: round(float(value), 4) for name, value in metric.compute().items()}
    {'total/mae': 1.1, 'total/sd': 0.9, 'total/accuracy': 0.5}
    """

    higher_is_better = None
    count: Tensor
    abs_sum: Tensor
    square_sum: Tensor
    exact_count: Tensor

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(tags, **kwargs)
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("exact_count", torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")
        for name in ("abs_sum", "square_sum"):
            self.add_state(name, torch.zeros(len(self.names), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Args:
            preds: (n, N) predicted counts, or (n,) total counts without tags.
            target: Target counts of the same shape.
        """
        preds, target = self._with_total(preds, target)
        error = (preds - target).abs()
        self.count = self.count + len(error)
        self.abs_sum = self.abs_sum + error.sum(0)
        self.square_sum = self.square_sum + error.square().sum(0)
        self.exact_count = self.exact_count + (preds.round() == target).sum(0)

    def compute(self) -> dict[str, Tensor]:
        """Return () float64 by name: "tag/mae", "tag/sd", "tag/accuracy", "total/mae", …; NaN without any update."""
        mean = self.abs_sum / self.count
        variance = (self.square_sum / self.count - mean.square()).clamp_min(0)
        statistics = {"mae": mean, "sd": variance.sqrt(), "accuracy": self.exact_count.double() / self.count}
        return {
            f"{tag}/{name}": value
            for name, values in statistics.items()
            for tag, value in self._by_name(values).items()
        }
