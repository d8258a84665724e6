"""GREEN as a scorer."""

from __future__ import annotations

from typing import Self

import torch

from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.generative.evaluator import GeneratedAnswer, GenerativeEvaluator
from radreward.generative.scorer import UNPARSABLE_ANSWER, GenerativeScorer, ParsedScore, parsed_counts
from radreward.models import Backbone
from radreward.models.backbone import DTypeName
from radreward.scorers.base import STATUS_OK
from radreward.systems.green.prompt import GreenTemplate, error_categories, parse_green, parse_green_by_criteria
from radreward.types import Explanation


class GreenScorer(GenerativeScorer):
    """GREEN, M / (M + Σ significant errors), of the answers of a model that was trained to write analyses (Eq. 1).

    As published there are twelve counts, significant and insignificant ones of six categories; a model of other
    criteria has these, and `Explanation` has both kinds in any case.
    """

    title = "GREEN"
    total_range = (0.0, 1.0)
    template_class = GreenTemplate

    @classmethod
    def from_published_weights(
        cls,
        backbone: str,
        question: str,
        dtype: DTypeName = "float16",
        device: str = "cpu",
        allow_download: bool = False,
        max_length: int = 1536,
        max_answer: int = 512,
    ) -> Self:
        """The scorer of published weights, in their chat layout; `save_pretrained` keeps all but these weights.

        Args:
            backbone: Folder or hub name of the weights, such as StanfordAIMI/GREEN-RadLlama2-7b.
            question: A file with the published question (GREEN, appendix A.1), {reference} and {candidate} in it. The
                weights were trained on these words, which are not ours to ship.
            dtype: In which the weights are held.
            device: Where they shall run.
            download: Whether they may be fetched from the hub.
            max_length: Most tokens of a question.
            max_answer: Most tokens of an answer; with `max_length` 2,048 in the paper.

        Raises:
            InputError: If the file or the weights cannot be read.
        """
        made = Backbone(backbone, lora=None, dtype=dtype, local_files_only=not allow_download)
        model = made.build(causal_lm=True).requires_grad_(False).to(device).eval()
        criteria, template = RadCliQSignificanceCriteria(), GreenTemplate(question=question)
        questions = ChatPromptEncoder(backbone, criteria, template, max_length, max_answer, chat_template="green")
        return cls(GenerativeEvaluator(made, model, questions))

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `GenerativeScorer.read`."""
        text = answer.text or ""
        types = error_categories(self.judged).categories
        found, parsed = parse_green(text, types), parse_green_by_criteria(text, self.judged)
        tags = [entry.tag for entry in types]
        half = len(types)
        errors = {
            f"{kind}{tag}": words
            for kind, part in (("", found.error_texts[:half]), ("insignificant_", found.error_texts[half:]))
            for tag, words in zip(tags, part, strict=True)
            if words
        }
        evidence = Explanation(
            text,
            answer.finish_reason,
            found.format_error,
            found.explanation,
            dict(zip(tags, found.significant, strict=True)),
            dict(zip(tags, found.insignificant, strict=True)),
            errors,
            found.num_matched,
            found.matched_findings,
        )
        score = found.green
        lacking = next(filter(None, (*found.parse_errors[:half], found.parse_errors[-1])), found.format_error)
        status = STATUS_OK if score is not None else f"{UNPARSABLE_ANSWER}: {lacking}"
        return ParsedScore(torch.nan if score is None else score, parsed_counts(parsed.values), status, evidence)
