"""RaTEScore as a torchmetrics metric: a running mean over batches and processes.

It stands with the scorers because it needs one; `radreward.metrics` sees tensors only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from radreward.systems.ratescore.scorer import RaTEScore


class RaTEScoreMetric(Metric):
    """Mean RaTEScore of generated reports, with the mean loss of each type of entity.

    Of pairs that have no score, such as those without an entity, only the number is told: `unscored`. Over several
    processes the sums are added up, so that the mean is that of all pairs.

    Args:
        scorer: What scores; the embedded one where none is given.
        kwargs: As in `torchmetrics.Metric`.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True
    sums: Tensor
    scored: Tensor
    pairs: Tensor

    def __init__(self, scorer: RaTEScore | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scorer = scorer or RaTEScore.from_pretrained()
        self.names = ("ratescore", *self.scorer.sub_names)
        self.add_state("sums", torch.zeros(len(self.names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("scored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("pairs", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, candidates: Sequence[str], references: Sequence[str]) -> None:
        """Add n pairs; predictions come first, as everywhere in torchmetrics.

        Raises:
            ValueError: If there are not as many of one as of the other.
        """
        scores = self.scorer.score(references, candidates)
        if scores.sub_scores is None:
            raise TypeError("Expected sub-scores from the scorer but got None.")
        rows = torch.cat([scores.total[:, None], scores.sub_scores], 1).to(self.sums)
        known = rows[:, 0].isfinite()
        self.sums += rows[known].nan_to_num(0.0).sum(0)
        self.scored += known.sum()
        self.pairs += len(rows)

    def compute(self) -> dict[str, Tensor]:
        """`ratescore` and the sub-score of each type, NaN where no pair had a score; `unscored`, how many had none."""
        means = self.sums / self.scored
        return {**dict(zip(self.names, means, strict=True)), "unscored": self.pairs - self.scored}
