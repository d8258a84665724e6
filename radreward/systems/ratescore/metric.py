"""RaTEScore as a torchmetrics metric; not in `radreward.metrics`, which sees tensors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from radreward.systems.ratescore.scorer import RaTEScore


class RaTEScoreMetric(Metric):
    """Mean RaTEScore of generated reports, with the mean sub-score of each entity type.

    Pairs without a score, such as pairs without an entity, are only counted: `unscored`. Sums are reduced over
    processes, so that the mean is over all pairs.

    Args:
        scorer: The scorer; defaults to the embedded one.
        kwargs: See `torchmetrics.Metric`.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True
    score_sums: Tensor
    num_scored: Tensor
    num_pairs: Tensor

    def __init__(self, scorer: RaTEScore | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scorer = scorer or RaTEScore.from_pretrained()
        self.output_names = ("ratescore", *self.scorer.sub_names)
        self.add_state("score_sums", torch.zeros(len(self.output_names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("num_scored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("num_pairs", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, candidates: Sequence[str], references: Sequence[str]) -> None:
        """Add n pairs; predictions come first, as in all of torchmetrics.

        Raises:
            ValueError: If the numbers of candidates and references differ.
        """
        scores = self.scorer.score(references, candidates)
        if scores.sub_scores is None:
            raise TypeError("Expected sub-scores from the scorer but got None.")
        rows = torch.cat([scores.total[:, None], scores.sub_scores], 1).to(self.score_sums)
        scored = rows[:, 0].isfinite()
        self.score_sums += rows[scored].nan_to_num(0.0).sum(0)
        self.num_scored += scored.sum()
        self.num_pairs += len(rows)

    def compute(self) -> dict[str, Tensor]:
        """Return `ratescore` and the sub-score of each type, NaN without scored pairs, and the number `unscored`."""
        means = self.score_sums / self.num_scored
        return {**dict(zip(self.output_names, means, strict=True)), "unscored": self.num_pairs - self.num_scored}
