"""Comparison of generated answers with the written answers to the same prompts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.sft import SFTBatch
from radreward.errors import InputError
from radreward.metrics.text_overlap import bleu, rouge
from radreward.models.rollout_engine import Completion
from radreward.models.text_encoder import TextEncoder, bertscore
from radreward.modules.predictions import PredictedCounts

SIMILARITY_METRICS = ("bleu_4", "rouge_l", "bertscore")
_SHARES = ("well_formed", "finished", "bertscore_truncated")
"""Columns of 0 and 1: the answer has the requested format, the model ended it, BERTScore truncated a text."""
logger = logging.getLogger(__name__)


class GenerationBatch(NamedTuple):
    """C generated answers compared with the written ones."""

    predicted: PredictedCounts
    columns: dict[str, Tensor]
    """(C,) float32 each, NaN if undefined: `_SHARES`, `SIMILARITY_METRICS`, and per statistic of
    `GenerativeTemplate.answer_statistics` the absolute error NAME_mae."""

    @classmethod
    def concatenate(cls, parts: Sequence[GenerationBatch]) -> GenerationBatch:
        """Return the answers of all parts, in order."""
        columns = {name: torch.cat([part.columns[name] for part in parts]) for name in parts[0].columns}
        return cls(PredictedCounts.concatenate([part.predicted for part in parts]), columns)


class TextSimilarity:
    """BLEU-4, ROUGE-L and BERTScore of answers (GREEN, Table 3).

    A metric is NaN if its extra is missing, with one warning.

    Args:
        device: Device of BERTScore's encoder.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._has_lexical = all(find_spec(name) for name in ("sacrebleu", "rouge_score"))
        if not self._has_lexical:
            logger.warning("BLEU and ROUGE-L of answers are skipped: they need the extra `lexical`.")

    def __call__(self, references: Sequence[str], answers: Sequence[str], with_bertscore: bool) -> dict[str, Tensor]:
        """Return the (C,) columns `SIMILARITY_METRICS` and bertscore_truncated; BERTScore only on request."""
        columns = {name: torch.full((len(answers),), torch.nan) for name in SIMILARITY_METRICS}
        columns["bertscore_truncated"] = torch.zeros(len(answers))
        if self._has_lexical:
            columns["bleu_4"] = torch.tensor(bleu(references, answers))
            columns["rouge_l"] = torch.tensor(rouge(references, answers))
        if with_bertscore and self._encoder:
            states = self._encoder.encode([*references, *answers])
            pairs = [(states[reference], states[answer]) for reference, answer in zip(references, answers, strict=True)]
            columns["bertscore"] = torch.tensor([bertscore(*pair) for pair in pairs])
            truncated = [reference.truncated or answer.truncated for reference, answer in pairs]
            columns["bertscore_truncated"] = torch.tensor(truncated).float()
        return columns

    @cached_property
    def _encoder(self) -> TextEncoder | None:
        """None, with a warning, if it is not installed."""
        try:
            return TextEncoder(device=self.device)
        except InputError as error:
            logger.warning("BERTScore of answers is skipped. %s", error)
            return None


def compare_generations(
    encoder: ChatPromptEncoder, batch: SFTBatch, completions: Sequence[Completion], similarity: Mapping[str, Tensor]
) -> GenerationBatch:
    """Return C generated answers, compared with the written ones; `similarity` is the result of `TextSimilarity`."""
    template, criteria = encoder.template, encoder.criteria
    parsed = [template.parse(completion.text, criteria) for completion in completions]
    counts = [[torch.nan if value is None else value for value in answer.values] for answer in parsed]
    group_ids = tuple(batch.ids[index] for index in batch.group.tolist())
    predicted = PredictedCounts(torch.tensor(counts).reshape(len(parsed), -1), batch.error_counts.cpu(), group_ids)
    columns = {
        "well_formed": torch.tensor([float(answer.format_error is None) for answer in parsed]),
        "finished": torch.tensor([float(completion.finish_reason == "stop") for completion in completions]),
        **similarity,
    }
    generated = [template.answer_statistics(completion.text, criteria) for completion in completions]
    written = [template.answer_statistics(text, criteria) for text in batch.answers]
    for name in written[0]:
        errors = [_absolute_error(a[name], b[name]) for a, b in zip(generated, written, strict=True)]
        columns[f"{name}_mae"] = torch.tensor(errors)
    return GenerationBatch(predicted, columns)


def _absolute_error(predicted: float | None, target: float | None) -> float:
    return torch.nan if predicted is None or target is None else abs(predicted - target)


def summarize_generations(batch: GenerationBatch) -> dict[str, float | None]:
    """Return means and standard deviations (divided by n) over answers (GREEN, Tables 2 and 3); None if undefined.

    Returns:
        The mean of each column over answers with a defined value. Columns that are not in `_SHARES` also have the
        standard deviation, with the suffix _std. `candidates` is the number of answers.
    """
    summary: dict[str, float | None] = {}
    for name, values in batch.columns.items():
        if name in _SHARES:
            summary[name] = float(values.mean())
            continue
        defined = values[~values.isnan()].double()
        summary[name] = float(defined.mean()) if len(defined) else None
        summary[f"{name}_std"] = float(defined.std(correction=0)) if len(defined) else None
    return summary | {"candidates": float(len(batch.predicted.group_ids))}
