"""RadReason as a scorer."""

from __future__ import annotations

import torch

from radreward.criteria import Criteria
from radreward.models.generative_evaluator import GeneratedAnswer
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.scorers.explanation import Explanation
from radreward.scorers.generative import UNPARSABLE_ANSWER, GenerativeScorer, ParsedScore, parsed_counts
from radreward.scorers.status import STATUS_OK
from radreward.systems.radreason.parser import errors_per_step
from radreward.systems.radreason.prompt import RadReasonTemplate


class RadReasonScorer(GenerativeScorer):
    """Weighted total of the error counts that a model states after reasoning: max_total - Σ_j count_j · weight_j."""

    title = "RadReason"
    template_class = RadReasonTemplate

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `GenerativeScorer.parse_answer`."""
        return parse_radreason_score(answer, self.evaluator.template, self.evaluator.prompt_encoder.criteria)


def parse_radreason_score(answer: GeneratedAnswer, template: GenerativeTemplate, criteria: Criteria) -> ParsedScore:
    """Return the score, the counts and the explanation of an answer."""
    text = answer.text or ""
    parsed = template.parse(text, criteria)
    values = dict(zip(criteria.tags, parsed.values, strict=True))
    errors = zip(criteria.tags, errors_per_step(parsed.reasoning, criteria), strict=True)
    explanation = Explanation(
        raw_answer=text,
        finish_reason=answer.finish_reason,
        format_error=parsed.format_error,
        explanation=parsed.reasoning,
        significant=values,
        insignificant={},
        errors={tag: texts for tag, texts in errors if texts and values[tag]},
        num_matched=None,
        matched_findings=(),
    )
    counts = parsed_counts(parsed.values)
    total = float(criteria.total(criteria.target_rewards(torch.tensor(counts))))
    reasons = zip(criteria.tags, parsed.parse_errors, strict=True)
    missing = next((f"{tag}: {reason}" for tag, reason in reasons if reason), None)
    status = f"{UNPARSABLE_ANSWER}: {missing}" if missing else STATUS_OK
    return ParsedScore(total, counts, status, explanation)
