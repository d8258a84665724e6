"""Decisions of rules about a pair of reports: its quality, its errors by criterion, and where the errors are stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import FactError, compare_facts
from radreward.data.statement_tokens import StatementTokens
from radreward.models.finding_comparison import compare_findings
from radreward.models.report_findings import ReportFindings
from radreward.text.fact_index import FactIndex
from radreward.text.normalization import wording_key
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.types import Side

_COUNTED = [frozenset(criteria.tags) for criteria in (RadCliQCriteria(), RadCliQSignificanceCriteria())]
"""Tags of the criteria whose errors rules count."""


class RuleDecision(NamedTuple):
    """Decision of rules about a pair."""

    quality: float
    share: float
    """Share of the findings about which they decide, see `FindingComparison.decided`."""
    errors: tuple[tuple[int, FactError], ...] | None
    """Errors, each with the column of its criterion; None if rules do not count the errors of the criteria."""

    def mean_quality(self, quality: Tensor, rule_share: float) -> Tensor:
        """Return q + r·s·(q' - q): q of the model, q' of the rules, r their share in the mean and s what they decide.

        >>> RuleDecision(1.0, 0.5, ()).mean_quality(torch.tensor(0.0), rule_share=0.5)
        tensor(0.2500)
        """
        return quality + rule_share * self.share * (self.quality - quality)

    def mean_errors(
        self, errors: Mapping[Side, Tensor], statements: Mapping[Side, StatementTokens], rule_share: float
    ) -> Mapping[Side, Tensor]:
        """Return this mean for the (M + 1, N) errors of the M statements of each report, see `locate_errors`."""
        if self.errors is None:
            return errors
        located = {side: _by_statement(self.errors, statements, side, part.shape[1]) for side, part in errors.items()}
        weight = rule_share * self.share
        return {side: torch.lerp(part, located[side], weight) for side, part in errors.items()}


AGREEMENT = RuleDecision(1.0, 1.0, ())
"""Decision about two reports of one wording, whatever the rules read in it."""


def _by_statement(
    errors: Sequence[tuple[int, FactError]], statements: Mapping[Side, StatementTokens], side: Side, num_criteria: int
) -> Tensor:
    """Return the (M + 1, N) errors of the M statements of a report. Statements that state one fact share its errors.

    A statement that both reports have shows no error. If only such statements state a fact, its errors go to the
    others about the same finding, and otherwise to no statement, as in the last row.
    """
    own, other = (list(map(part.words, range(len(part.spans)))) for part in (statements[side], statements[side.other]))
    located = torch.zeros(len(own) + 1, num_criteria)
    shown = [(column, error.fact) for column, error in errors if error.side is side]
    if not shown:
        return located
    shared = set(map(wording_key, other))
    index = FactIndex("" if wording_key(text) in shared else text for text in own)
    for column, fact in shown:
        numbers = index.stating(fact) or index.about(fact.finding) or [len(own)]
        for number in numbers:
            located[number, column] += 1 / len(numbers)
    return located


def decide(
    reference: ReportFindings, candidate: ReportFindings, criteria: Criteria, context: PatientContext = NO_CONTEXT
) -> RuleDecision:
    """Return what rules decide about the findings of two reports.

    They count the errors of `RadCliQCriteria` and of `RadCliQSignificanceCriteria`, see `count_errors`.

    >>> from radreward.criteria import RadCliQCriteria
    >>> from radreward.text.facts import Fact
    >>> left, right = Fact("effusion", location="left"), Fact("effusion", location="right")
    >>> criteria = RadCliQCriteria()
    >>> decision = decide(ReportFindings((left, Fact("edema")), ()), ReportFindings((right,), ()), criteria)
    >>> decision.share, [(criteria.tags[column], error.fact.finding) for column, error in decision.errors]
    (1.0, [('incorrect_location', 'effusion'), ('omission', 'edema')])
    """
    quality, share = compare_findings(reference, candidate, context).decided()
    columns = {tag: column for column, tag in enumerate(criteria.tags)}
    if columns.keys() not in _COUNTED:
        return RuleDecision(quality, share, None)
    errors = tuple(
        (columns[error.tag if error.tag in columns else error.tag_with_significance], error)
        for error in compare_facts(reference.facts, candidate.facts, is_generated=False).errors
    )
    return RuleDecision(quality, share, errors)
