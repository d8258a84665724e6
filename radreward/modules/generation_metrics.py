"""Answers of a model against those that were written for the same reports: numbers, form and words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.metrics import text_overlap as words
from radreward.models.text_encoder import TextEncoder, bertscore
from radreward.modules.count_metrics import PredictedCounts, concatenate_counts
from radreward.systems.green.prompt import error_categories, parse_green

SIMILARITY_METRICS = ("bleu_4", "rouge_l", "bertscore")
logger = logging.getLogger(__name__)


class GenerationBatch(NamedTuple):
    """What a model answered to some prompts, against what was written for them."""

    predicted: PredictedCounts
    """Errors that it states, and known ones."""
    well_formed: Tensor
    """(C,) bool: whether the answer has the form that was asked for."""
    finished: Tensor
    """(C,) bool: whether it ended by itself."""
    similarity: Tensor
    """(C, 3) of its words and those of the written answer, by `LIKENESS`; NaN where it was not measured."""
    bertscore_truncated: Tensor
    """(C,) bool: whether BERTScore has read the beginnings only."""
    score_errors: Tensor
    """(C, 2) absolute differences of matched findings and of the GREEN scores of both, NaN where one has none."""


def concatenate_generations(parts: Sequence[GenerationBatch]) -> GenerationBatch:
    """All of several parts, one behind the other."""
    stated, *others = zip(*parts, strict=True)
    return GenerationBatch(concatenate_counts(stated), *(torch.cat(values) for values in others))


class TextSimilarity:
    """How alike two texts are by `LIKENESS` (GREEN, Table 3), as far as the extras that measure it are installed.

    Args:
        device: Where the encoder of BERTScore runs.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._encoder: TextEncoder | None = None
        self._load_attempted = False
        self._has_lexical = all(find_spec(name) for name in ("sacrebleu", "rouge_score"))
        if not self._has_lexical:
            logger.warning("BLEU and ROUGE-L of answers need the extra `lexical`: they are left out.")

    def __call__(
        self, references: Sequence[str], answers: Sequence[str], with_bertscore: bool
    ) -> tuple[Tensor, Tensor]:
        """Both as in `GenerationBatch`, (C, 3) and (C,) bool.

        Args:
            wanted: C texts that were written.
            texts: C answers.
            states: Whether BERTScore is measured, which takes an encoder.
        """
        measured = torch.full((len(answers), len(SIMILARITY_METRICS)), torch.nan)
        cut = torch.zeros(len(answers), dtype=torch.bool)
        if self._has_lexical:
            measured[:, 0] = torch.tensor(words.bleu(references, answers))
            measured[:, 1] = torch.tensor(words.rouge(references, answers))
        if with_bertscore and (encoder := self._load_encoder()):
            known = encoder.encode([*references, *answers])
            pairs = [(known[one], known[other]) for one, other in zip(references, answers, strict=True)]
            measured[:, 2] = torch.tensor([bertscore(*pair) for pair in pairs])
            cut = torch.tensor([one.truncated or other.truncated for one, other in pairs])
        return measured, cut

    def _load_encoder(self) -> TextEncoder | None:
        """The encoder, loaded when it is first wanted; None, and a warning, without the extra."""
        if self._encoder is None and not self._load_attempted:
            self._load_attempted = True
            try:
                self._encoder = TextEncoder(device=self.device)
            except InputError as error:
                logger.warning("BERTScore of answers is left out. %s", error)
        return self._encoder


def green_score_errors(answer: str, reference: str, criteria: Criteria) -> tuple[float, float]:
    """Absolute differences of matched findings and of the scores of two answers in GREEN's layout; NaN for none."""
    types = error_categories(criteria).categories
    ours, theirs = (parse_green(one, types) for one in (answer, reference))
    return _absolute_error(ours.num_matched, theirs.num_matched), _absolute_error(ours.green, theirs.green)


def _absolute_error(predicted: float | None, target: float | None) -> float:
    return torch.nan if predicted is None or target is None else abs(predicted - target)


def summarize_generations(batch: GenerationBatch, criteria: Criteria) -> dict[str, float | None]:
    """Figures of answers beside their agreement (GREEN, Tables 2 and 3); None where one is not defined.

    Differences of counts are of the sums of significant, of insignificant errors, where the criteria are such twice.
    Means and deviations (divided by n) are of the answers that have the number in question.

    Args:
        seen: C answers.
        criteria: N criteria.
    """
    columns = dict(zip(SIMILARITY_METRICS, batch.similarity.T, strict=True))
    columns |= {"matched_mae": batch.score_errors[:, 0], "green_difference": batch.score_errors[:, 1]}
    columns |= dict.fromkeys(("significant_mae", "insignificant_mae"), torch.empty(0))
    if error_categories(criteria).split_by_significance:
        values, target, _ = batch.predicted
        apart = (values - target.to(values)).reshape(len(values), 2, -1).sum(2).abs()
        columns |= {"significant_mae": apart[:, 0], "insignificant_mae": apart[:, 1]}
    figures: dict[str, float | None] = {}
    for name, values in columns.items():
        kept = values[~values.isnan()].double()
        figures[name] = float(kept.mean()) if len(kept) else None
        figures[f"{name.removesuffix('_mae')}_sd"] = float(kept.std(correction=0)) if len(kept) else None
    return {
        "valid": float(batch.well_formed.float().mean()),
        "finished": float(batch.finished.float().mean()),
        **figures,
        "bertscore_cut": float(batch.bertscore_truncated.float().mean()),
        "candidates": float(len(batch.well_formed)),
    }
