"""RadReason as a scorer."""

from __future__ import annotations

import torch

from radreward.generative.evaluator import Answer
from radreward.generative.scorer import UNREADABLE, ExplainingScorer, Reading, parsed_counts
from radreward.scorers.base import OK
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.reasoning_steps import errors_in_steps
from radreward.types import Explanation


class RadReasonScorer(ExplainingScorer):
    """The total of the error counts that a model gives after reasons: offset - Σ_j count_j · weight_j (RadReason)."""

    title = "RadReason"
    layout = RadReasonTemplate

    def read(self, answer: Answer) -> Reading:
        """See `ExplainingScorer.read`."""
        text = answer.text or ""
        parsed = self.explainer.template.parse(text, self.judged)
        tags = self.judged.tags
        values = dict(zip(tags, parsed.values, strict=True))
        named = zip(tags, errors_in_steps(parsed.reasoning, self.judged), strict=True)
        errors = {tag: words for tag, words in named if words and values[tag]}
        evidence = Explanation(text, answer.finish, parsed.problem, parsed.reasoning, values, {}, errors, None, ())
        counts = parsed_counts(parsed.values)
        total = float(self.judged.total(self.judged.quality(torch.tensor(counts))))
        missing = next((f"{tag}: {why}" for tag, why in zip(tags, parsed.reasons, strict=True) if why), None)
        return Reading(total, counts, f"{UNREADABLE}: {missing}" if missing else OK, evidence)
