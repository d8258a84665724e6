"""How well the candidates of one reference are ordered, by criterion and in total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from radreward.metrics import functional
from radreward.metrics.sub_score_metric import SubScoreMetric


class PairwiseAccuracy(SubScoreMetric):
    """Share of the pairs of a reference, of different target, that the predictions order right.

    Equal predictions are not right. A group has to come within one update: numbers of groups may start again with
    every batch.

    >>> metric = PairwiseAccuracy()
    >>> metric.update(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]), torch.tensor([0, 0, 0]))
    >>> metric.compute()
    {'total': tensor(0.6667, dtype=torch.float64)}
    """

    concordant: Tensor
    comparable: Tensor

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(tags, **kwargs)
        for name in ("right", "pairs"):
            self.add_state(name, torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor) -> None:
        """Count the pairs of a batch.

        Args:
            preds: (n, N) predicted quality, or (n,) totals where there are no tags.
            target: Known quality, likewise.
            group: (n,) which reference.
        """
        right, pairs = functional.count_concordant_pairs(*self._with_total(preds, target), group)
        self.concordant = self.concordant + right
        self.comparable = self.comparable + pairs

    def compute(self) -> dict[str, Tensor]:
        """() float64 in [0, 1] by criterion and "total"; NaN where no pair has different targets."""
        return self._by_name(self.concordant.double() / self.comparable)


class WithinGroupTau(SubScoreMetric):
    """Kendall's τ-b within each reference, averaged over the references in which neither side is constant.

    A group has to come within one update: numbers of groups may start again with every batch.

    >>> metric = WithinGroupTau()
    >>> scores, quality = torch.tensor([1.0, 2.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 5.0, 5.0])
    >>> metric.update(scores, quality, torch.tensor([0, 0, 1, 1]))
    >>> metric.compute()
    {'total': tensor(1., dtype=torch.float64)}
    """

    sums: Tensor
    groups: Tensor

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(tags, **kwargs)
        self.add_state("sums", torch.zeros(len(self.names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("groups", torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor) -> None:
        """Add the groups of a batch.

        Args:
            preds: (n, N) predicted quality, or (n,) totals where there are no tags.
            target: Known quality, likewise.
            group: (n,) which reference.
        """
        preds, target = self._with_total(preds, target)
        tau = functional.within_group_tau(preds, target, group)
        # A group with a constant side is left out; a prediction that is no number must not be.
        self.sums = self.sums + torch.where(preds.isnan().any(0), torch.nan, tau.nansum(0))
        self.groups = self.groups + (~tau.isnan()).sum(0)

    def compute(self) -> dict[str, Tensor]:
        """() float64 in [-1, 1] by criterion and "total"; NaN where no group has a τ, or a prediction was NaN."""
        return self._by_name(self.sums / self.groups)
