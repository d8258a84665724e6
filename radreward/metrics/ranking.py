"""Accuracy of the order of candidates of one reference, per criterion and in total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from radreward.metrics import functional
from radreward.metrics.sub_score_metric import SubScoreMetric


class PairwiseAccuracy(SubScoreMetric):
    """Fraction of concordant pairs among pairs of candidates of one reference with different targets.

    Pairs with equal predictions are not concordant. All candidates of a group must be in the same update, because group
    indices may restart with every batch.

    >>> metric = PairwiseAccuracy()
    >>> metric.update(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]), torch.tensor([0, 0, 0]))
    >>> metric.compute()
    {'total': tensor(0.6667, dtype=torch.float64)}
    """

    concordant: Tensor
    comparable: Tensor

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(tags, **kwargs)
        for name in ("concordant", "comparable"):
            self.add_state(name, torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor) -> None:
        """Count the pairs of a batch.

        Args:
            preds: (n, N) rewards, or (n,) totals without tags.
            target: Target rewards of the same shape.
            group: (n,) index of the reference.
        """
        concordant, comparable = functional.count_concordant_pairs(*self._with_total(preds, target), group)
        self.concordant = self.concordant + concordant.sum(0)
        self.comparable = self.comparable + comparable.sum(0)

    def compute(self) -> dict[str, Tensor]:
        """Return () float64 in [0, 1] per criterion and for "total"; NaN if no pair has different targets."""
        return self._by_name(self.concordant.double() / self.comparable)
