"""Rank correlation of rewards and targets over all candidates, per criterion and in total."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics.utilities.data import dim_zero_cat

from radreward.metrics import functional
from radreward.metrics.sub_score_metric import SubScoreMetric


class RankCorrelation(SubScoreMetric):
    """A rank correlation between all predictions and targets, pooled over references. Subclasses define `statistic`."""

    preds: list[Tensor]
    target: list[Tensor]

    def __init__(self, tags: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(tags, **kwargs)
        self.add_state("preds", [], dist_reduce_fx="cat")
        self.add_state("target", [], dist_reduce_fx="cat")

    @staticmethod
    @abstractmethod
    def statistic(preds: Tensor, target: Tensor) -> Tensor:
        """Return the (M,) correlations of the columns of (n, M) predictions and targets."""

    def update(self, preds: Tensor, target: Tensor, group: Tensor | None = None) -> None:
        """Add a batch.

        Args:
            preds: (n, N) rewards, or (n,) totals without tags.
            target: Target rewards of the same shape.
            group: Unused; accepted so that all validation metrics take the same arguments.
        """
        preds, target = self._with_total(preds, target)
        self.preds.append(preds)
        self.target.append(target)

    def compute(self) -> dict[str, Tensor]:
        """Return () float64 per criterion and for "total"; NaN for fewer than two values or a constant column."""
        if not len(self.preds):
            return self._by_name(torch.full((len(self.names),), torch.nan, dtype=torch.float64, device=self.device))
        return self._by_name(self.statistic(dim_zero_cat(self.preds), dim_zero_cat(self.target)))


class KendallTauB(RankCorrelation):
    """Kendall's τ-b, pooled over references, per criterion and in total.

    >>> metric = KendallTauB(["omission"])
    >>> metric.update(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[-2.0], [-1.0], [0.0]]))
    >>> metric.compute()
    {'omission': tensor(1., dtype=torch.float64), 'total': tensor(1., dtype=torch.float64)}
    """

    statistic = staticmethod(functional.kendall_tau_b)


class SpearmanRho(RankCorrelation):
    """Spearman's ρ, pooled over references, per criterion and in total.

    >>> metric = SpearmanRho()
    >>> metric.update(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0, 2.0, 4.0]))
    >>> metric.compute()
    {'total': tensor(0.8000, dtype=torch.float64)}
    """

    statistic = staticmethod(functional.spearman)
