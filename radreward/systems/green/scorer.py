"""GREEN as a scorer."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Literal, Self, cast

import torch

from radreward.criteria import Criteria, RadCliQSignificanceCriteria, finding_quality
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.backbone import DTypeName
from radreward.models.generative_evaluator import GeneratedAnswer, GenerativeEvaluator, find_evaluator_settings
from radreward.scorers.explanation import Explanation
from radreward.scorers.generative import UNPARSABLE_ANSWER, GenerativeScorer, ParsedScore, parsed_counts
from radreward.scorers.status import STATUS_OK
from radreward.systems.green.categories import error_categories
from radreward.systems.green.parser import counts_by_criteria
from radreward.systems.green.prompt import GreenTemplate

logger = logging.getLogger(__name__)

PUBLISHED_WEIGHTS = "stanfordaimi/green-"
"""Start of the Hub names of the published weights, in lowercase."""
_QUESTION_VARIABLE = "RADREWARD_GREEN_QUESTION"
"""Environment variable with the path of the published question."""
_HALF_A_FINDING = 0.5
"""Prior of the quality: GREEN counts each finding as 1."""


class GreenScorer(GenerativeScorer):
    """GREEN, M / (M + Σ significant errors), from the analysis that a language model writes (Eq. 1).

    The published criteria are twelve: significant and insignificant errors of six categories. A model with other
    criteria returns counts of its own criteria. The `Explanation` always separates significant and insignificant
    errors. The quality is (M + ½) / (M + ½ + Σ significant errors), so that one error and two errors differ even if M
    is 0.
    """

    title = "GREEN"
    total_range = (0.0, 1.0)
    has_quality = True
    template_class = GreenTemplate

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None,
        precision: Literal["fp32", "bf16"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
        model: str | None = None,
        batch_size: int = 64,
        parser: Literal["robust", "official"] = "robust",
    ) -> Self:
        """Load a saved evaluator, or published weights as in `green:StanfordAIMI/GREEN-RadLlama2-7b`.

        See `GenerativeScorer.from_pretrained` for the arguments. Published weights are loaded as float16. Their
        question is read from the file that the environment variable RADREWARD_GREEN_QUESTION names; if it is not set,
        a question in our words is used and a warning is logged. `parser` reads their answers, see `GreenTemplate`; it
        is "official" in `green-official`.

        Raises:
            InputError: If there is no such evaluator, the weights or the question cannot be read, or the official
                parser is requested for an evaluator other than the published weights.
        """
        if model is None or not model.lower().startswith(PUBLISHED_WEIGHTS) or find_evaluator_settings(model):
            if parser != "robust":
                raise InputError(
                    f"{model or folder}: Expected published weights ({PUBLISHED_WEIGHTS}…) with the official parser. "
                    "Use `green`: a saved evaluator stores its parser."
                )
            return super().from_pretrained(folder, precision, on_too_long, device, allow_download, model, batch_size)
        question = os.environ.get(_QUESTION_VARIABLE)
        scorer = cls.from_published_weights(
            model, question, device=device, allow_download=allow_download, parser=parser
        )
        if question is None:
            logger.warning(
                "%s was trained with the published question (GREEN, appendix A.1) but gets a question in our words. "
                "Set %s to the path of a file with the published question.",
                model,
                _QUESTION_VARIABLE,
            )
        scorer.on_too_long, scorer.batch_size = on_too_long, batch_size
        return scorer

    @classmethod
    def from_published_weights(
        cls,
        backbone: str,
        question: str | None,
        dtype: DTypeName = "float16",
        device: str = "auto",
        allow_download: bool = False,
        max_length: int = 1536,
        max_answer_length: int = 2048,
        parser: Literal["robust", "official"] = "robust",
    ) -> Self:
        """Return the scorer of published weights, with their chat template.

        `save_pretrained` stores only the name of the weights.

        Args:
            backbone: Folder or Hub name of the weights, such as StanfordAIMI/GREEN-RadLlama2-7b.
            question: File with the published question (GREEN, appendix A.1), which contains {reference} and
                {candidate}; it cannot be distributed here. None for a question in our words.
            dtype: Precision of the weights.
            device: Device of the model, see `radreward.devices.resolve_device`.
            allow_download: Download missing weights from the Hub.
            max_length: Maximum number of prompt tokens.
            max_answer_length: Maximum number of answer tokens. An answer ends at the end token; a shorter limit cuts
                the longest analyses, those of the worst reports.
            parser: See `GreenTemplate`.

        Raises:
            InputError: If the file or the weights cannot be read.
        """
        language_model = Backbone(backbone, lora=None, dtype=dtype, local_files_only=not allow_download)
        model = language_model.build(causal_lm=True).requires_grad_(False).to(resolve_device(device)).eval()
        template = GreenTemplate(question=question, parser=parser)
        encoder = ChatPromptEncoder(
            backbone,
            RadCliQSignificanceCriteria(),
            template,
            max_length=max_length,
            max_answer_length=max_answer_length,
            chat_template="green",
        )
        return cls(GenerativeEvaluator(language_model, model, encoder))

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `GenerativeScorer.parse_answer`."""
        encoder, template = self.evaluator.prompt_encoder, cast(GreenTemplate, self.evaluator.template)
        return parse_green_score(answer, template, encoder.criteria)


def parse_green_score(answer: GeneratedAnswer, template: GreenTemplate, criteria: Criteria) -> ParsedScore:
    """Return the score, the counts, the explanation and the quality of an answer."""
    text = answer.text or ""
    parsed = template.parse_answer(text, criteria)
    tags = [category.tag for category in error_categories(criteria).categories]
    k = len(tags)
    names = [*tags, *(f"insignificant_{tag}" for tag in tags)]
    explanation = Explanation(
        raw_answer=text,
        finish_reason=answer.finish_reason,
        format_error=parsed.format_error,
        explanation=parsed.explanation,
        significant=dict(zip(tags, parsed.significant, strict=True)),
        insignificant=dict(zip(tags, parsed.insignificant, strict=True)),
        errors={name: texts for name, texts in zip(names, parsed.error_texts, strict=True) if texts},
        num_matched=parsed.num_matched,
        matched_findings=parsed.matched_findings,
    )
    reasons = (*parsed.parse_errors[:k], parsed.parse_errors[-1], parsed.format_error)
    score, counts = parsed.green, parsed_counts(counts_by_criteria(parsed, criteria).values)
    if score is None:
        status = f"{UNPARSABLE_ANSWER}: {next(filter(None, reasons))}"
        return ParsedScore(torch.nan, counts, status, explanation)
    significant = sum(count for count in parsed.significant if count is not None)
    quality = finding_quality(parsed.num_matched or 0.0, significant, prior=_HALF_A_FINDING)
    return ParsedScore(score, counts, STATUS_OK, explanation, quality)
