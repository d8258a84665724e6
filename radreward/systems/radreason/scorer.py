"""RadReason as a scorer."""

from __future__ import annotations

import torch

from radreward.generative.evaluator import GeneratedAnswer
from radreward.generative.scorer import UNPARSABLE_ANSWER, GenerativeScorer, ParsedScore, parsed_counts
from radreward.scorers.base import STATUS_OK
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.reasoning_steps import errors_per_step
from radreward.types import Explanation


class RadReasonScorer(GenerativeScorer):
    """The total of the error counts that a model gives after reasons: offset - Σ_j count_j · weight_j (RadReason)."""

    title = "RadReason"
    template_class = RadReasonTemplate

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `GenerativeScorer.read`."""
        text = answer.text or ""
        parsed = self.evaluator.template.parse(text, self.judged)
        tags = self.judged.tags
        values = dict(zip(tags, parsed.values, strict=True))
        named = zip(tags, errors_per_step(parsed.reasoning, self.judged), strict=True)
        errors = {tag: words for tag, words in named if words and values[tag]}
        evidence = Explanation(
            text, answer.finish_reason, parsed.format_error, parsed.reasoning, values, {}, errors, None, ()
        )
        counts = parsed_counts(parsed.values)
        total = float(self.judged.total_quality(self.judged.quality(torch.tensor(counts))))
        missing = next((f"{tag}: {why}" for tag, why in zip(tags, parsed.parse_errors, strict=True) if why), None)
        return ParsedScore(total, counts, f"{UNPARSABLE_ANSWER}: {missing}" if missing else STATUS_OK, evidence)
