"""RadReason's sub-scores and reasons by rules, without a language model."""

from __future__ import annotations

from radreward.criteria import RadCliQCriteria
from radreward.generative.evaluator import GeneratedAnswer
from radreward.generative.scorer import ParsedScore
from radreward.synthesis.rule_scorer import RuleScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.scorer import parse_radreason_score


class RuleRadReason(RuleScorer):
    """Counts of RadCliQ's six kinds of errors with reasons, by rules; the total is their quality, 0 at best.

    >>> scores = RuleRadReason().score(["Small left effusion."], ["Small right effusion."])
    >>> scores.total.item(), scores.evidence[0].errors
    (-1.0, {'incorrect_location': ('effusion: the place is left, not right',)})
    """

    config_name = "radreason_rules.json"
    title = "RadReason (rules)"
    criteria = RadCliQCriteria()
    total_range = (None, criteria.max_total)
    template = RadReasonTemplate()

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `RuleScorer.parse_answer`."""
        return parse_radreason_score(answer, self.template, self.criteria)
