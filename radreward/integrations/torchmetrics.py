"""Any scorer as a torchmetrics metric, exported as `radreward.ScorerMetric`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from radreward.integrations.rewards import loaded_scorer
from radreward.score_outputs import ScoreOutput
from radreward.scorers import Scorer

logger = logging.getLogger(__name__)


class ScorerMetric(Metric):
    """Mean of an output of a scorer over pairs; sums are reduced over ranks.

    Args:
        scorer: A scorer, or its name or folder.
        output: "total", "quality" or "errors". To compare corpora, use the quality: its maximum is 1 for every
            reference, while the maximum of the total depends on the reference.
        missing: Value of a pair without a score, such as one with an empty candidate; None leaves such pairs out. To
            select models, set it to the worst value: otherwise a model is not judged by its unusable reports.
        kwargs: See `torchmetrics.Metric`.

    Raises:
        ValueError: If there is no such output, or `missing` is not finite.
        InputError: If the scorer is unknown or does not have this output.

    >>> metric = ScorerMetric("rouge-l")
    >>> metric.update(["No effusion.", "Clear lungs."], ["No effusion.", "Small edema."])
    >>> metric.compute()
    tensor(0.5000)

    A candidate without a score counts as `missing`:

    >>> metric = ScorerMetric("rouge-l", missing=0.0)
    >>> metric.update(["No effusion.", "Clear lungs."], ["No effusion.", ""])
    >>> metric.compute()
    tensor(0.5000)
    """

    full_state_update = False
    is_differentiable = False
    score_sum: Tensor
    num_scored: Tensor
    num_pairs: Tensor

    def __init__(
        self,
        scorer: Scorer | str | Path,
        output: ScoreOutput = "total",
        missing: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if missing is not None and not math.isfinite(missing):
            raise ValueError(f"Expected `missing` to be None or finite but got {missing}.")
        self.scorer = loaded_scorer(scorer, output)
        self.output, self.missing = output, missing
        self.add_state("score_sum", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("num_scored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("num_pairs", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # an attribute of the base class
        """True if higher outputs are better."""
        return self.scorer.output_higher_is_better(self.output)

    def update(self, references: Iterable[str], candidates: Iterable[str]) -> None:
        """Score pairs and add them.

        Args:
            references: Reference reports, see `Scorer.score`.
            candidates: One candidate per reference.

        Raises:
            ValueError: If the numbers of references and candidates differ.
        """
        scores = self.scorer.score(references, candidates)
        values = self.scorer.output_values(scores, self.output)
        scored = values[values.isfinite()].to(self.score_sum)
        self.score_sum += scored.sum()
        self.num_scored += len(scored)
        self.num_pairs += len(values)

    def compute(self) -> Tensor:
        """Return the mean as a () float32 tensor, NaN if no pair counts; log the number of pairs without a score."""
        unscored = int(self.num_pairs - self.num_scored)
        if unscored:
            logger.warning("%s: %d of %d pairs have no score.", self.scorer.title, unscored, int(self.num_pairs))
        if self.missing is None:
            return (self.score_sum / self.num_scored).float()
        return ((self.score_sum + unscored * self.missing) / self.num_pairs).float()
