"""GREEN's analyses by rules, without a language model."""

from __future__ import annotations

from radreward.criteria import RadCliQSignificanceCriteria
from radreward.generative.evaluator import GeneratedAnswer
from radreward.generative.scorer import ParsedScore
from radreward.synthesis.rule_scorer import RuleScorer
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.green.scorer import parse_green_score


class RuleGreen(RuleScorer):
    """GREEN (Eq. 1) of errors and matched findings that are counted by rules.

    >>> RuleGreen().score(["Large pneumothorax. Cardiomegaly."], ["Cardiomegaly."]).total.item()
    0.5
    """

    config_name = "green_rules.json"
    title = "GREEN (rules)"
    criteria = RadCliQSignificanceCriteria()
    total_range = (0.0, 1.0)
    has_quality = True
    template = GreenTemplate()

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `RuleScorer.parse_answer`."""
        return parse_green_score(answer, self.template, self.criteria)
