"""Comparison of generated answers with the answers that were written for the same prompts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.sft import SFTBatch
from radreward.errors import InputError
from radreward.generative.evaluator import require_generative_template
from radreward.metrics.text_overlap import bleu, rouge
from radreward.models.rollout_engine import Completion
from radreward.models.text_encoder import TextEncoder, bertscore
from radreward.modules.predictions import PredictedCounts

SIMILARITY_METRICS = ("bleu_4", "rouge_l", "bertscore")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSimilarities:
    """Similarity of C answers to their references."""

    values: Tensor
    """(C, 3) by `SIMILARITY_METRICS`; NaN if not computed."""
    truncated: Tensor
    """(C,) bool: True if BERTScore used a truncated text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationBatch:
    """Generated answers compared with the written ones."""

    predicted: PredictedCounts
    well_formed: Tensor
    """(C,) bool: True if the answer has the requested format."""
    finished: Tensor
    """(C,) bool: True if the model ended the answer itself."""
    similarity: TextSimilarities
    statistic_errors: dict[str, Tensor]
    """(C,) absolute error of each statistic of `GenerativeTemplate.answer_statistics`; NaN if either is undefined."""

    @classmethod
    def concatenate(cls, parts: Sequence[GenerationBatch]) -> GenerationBatch:
        """Return the answers of all parts, in order."""
        return cls(
            predicted=PredictedCounts.concatenate([part.predicted for part in parts]),
            well_formed=torch.cat([part.well_formed for part in parts]),
            finished=torch.cat([part.finished for part in parts]),
            similarity=TextSimilarities(
                values=torch.cat([part.similarity.values for part in parts]),
                truncated=torch.cat([part.similarity.truncated for part in parts]),
            ),
            statistic_errors={
                name: torch.cat([part.statistic_errors[name] for part in parts]) for name in parts[0].statistic_errors
            },
        )


class TextSimilarity:
    """BLEU-4, ROUGE-L and BERTScore of answers (GREEN, Table 3), as far as the extras that compute them are installed.

    Args:
        device: Device of BERTScore's encoder.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._encoder: TextEncoder | None = None
        self._load_attempted = False
        self._has_lexical = all(find_spec(name) for name in ("sacrebleu", "rouge_score"))
        if not self._has_lexical:
            logger.warning("BLEU and ROUGE-L of answers are skipped: they need the extra `lexical`.")

    def __call__(self, references: Sequence[str], answers: Sequence[str], with_bertscore: bool) -> TextSimilarities:
        """Return the similarity of C answers to C references; BERTScore only on request."""
        values = torch.full((len(answers), len(SIMILARITY_METRICS)), torch.nan)
        truncated = torch.zeros(len(answers), dtype=torch.bool)
        if self._has_lexical:
            values[:, 0] = torch.tensor(bleu(references, answers))
            values[:, 1] = torch.tensor(rouge(references, answers))
        if with_bertscore and (encoder := self._load_encoder()):
            states = encoder.encode([*references, *answers])
            pairs = [(states[reference], states[answer]) for reference, answer in zip(references, answers, strict=True)]
            values[:, 2] = torch.tensor([bertscore(*pair) for pair in pairs])
            truncated = torch.tensor([reference.truncated or answer.truncated for reference, answer in pairs])
        return TextSimilarities(values=values, truncated=truncated)

    def _load_encoder(self) -> TextEncoder | None:
        """Return the encoder, loaded on first use; None, with one warning, if it is not installed."""
        if self._encoder is None and not self._load_attempted:
            self._load_attempted = True
            try:
                self._encoder = TextEncoder(device=self.device)
            except InputError as error:
                logger.warning("BERTScore of answers is skipped. %s", error)
        return self._encoder


def compare_generations(
    encoder: ChatPromptEncoder, batch: SFTBatch, completions: Sequence[Completion], similarity: TextSimilarities
) -> GenerationBatch:
    """Return generated answers with their target counts and statistics.

    Args:
        encoder: Prompt encoder with the template and N criteria.
        batch: C prompts with written answers.
        completions: C generated answers.
        similarity: Text similarity of the C answers.
    """
    template, criteria = require_generative_template(encoder), encoder.criteria
    parsed = [template.parse(completion.text, criteria) for completion in completions]
    counts = [[torch.nan if value is None else value for value in answer.values] for answer in parsed]
    generated = [template.answer_statistics(completion.text, criteria) for completion in completions]
    written = [template.answer_statistics(text, criteria) for text in batch.answers]
    return GenerationBatch(
        predicted=PredictedCounts(
            torch.tensor(counts).reshape(len(completions), -1),
            batch.error_counts.cpu(),
            tuple(batch.ids[index] for index in batch.group.tolist()),
        ),
        well_formed=torch.tensor([answer.format_error is None for answer in parsed]),
        finished=torch.tensor([completion.finish_reason == "stop" for completion in completions]),
        similarity=similarity,
        statistic_errors={
            name: torch.tensor([_absolute_error(a[name], b[name]) for a, b in zip(generated, written, strict=True)])
            for name in written[0]
        },
    )


def _absolute_error(predicted: float | None, target: float | None) -> float:
    return torch.nan if predicted is None or target is None else abs(predicted - target)


def summarize_generations(batch: GenerationBatch) -> dict[str, float | None]:
    """Return means and standard deviations (divided by n) over answers (GREEN, Tables 2 and 3); None if undefined.

    Returns:
        well_formed, finished, candidates, bertscore_truncated; per text similarity NAME and per statistic NAME_mae, the
        mean over answers with a defined value and, with the suffix _std, the standard deviation.
    """
    columns = dict(zip(SIMILARITY_METRICS, batch.similarity.values.T, strict=True))
    columns |= {f"{name}_mae": errors for name, errors in batch.statistic_errors.items()}
    summary: dict[str, float | None] = {}
    for name, values in columns.items():
        defined = values[~values.isnan()].double()
        summary[name] = float(defined.mean()) if len(defined) else None
        summary[f"{name}_std"] = float(defined.std(correction=0)) if len(defined) else None
    return {
        "well_formed": float(batch.well_formed.float().mean()),
        "finished": float(batch.finished.float().mean()),
        **summary,
        "bertscore_truncated": float(batch.similarity.truncated.float().mean()),
        "candidates": float(len(batch.well_formed)),
    }
