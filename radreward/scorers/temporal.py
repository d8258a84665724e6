"""Agreement of two reports about changes since a prior study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from radreward.metrics.text_overlap import set_f1
from radreward.models.marked_findings import MarkedFinding, unmatched_parts
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.text.report_parser import parse_report
from radreward.types import Scores, Side

STATUS_NO_CHANGE = "no change in either report"
"""Status of a pair without a score, because there is nothing to compare."""


class TemporalF1(StatelessScorer):
    """F1 of the changes that two reports state, in [0, 1].

    A change is a pair of a finding and one of new, worse, better, stable and resolved.
    With A and B the sets of changes of the two reports, the score is 2 |A ∩ B| / (|A| + |B|): 0 if only
    one report states a change, no score if neither does. Changes are read by rules, see `parse_report`; a change in a
    sentence that the rules do not parse is not compared. The evidence lists changes missing from the candidate and
    changes only in the candidate. The metric ignores everything else, so use it beside others. It is not RadEval's
    Temporal F1, and its values differ.

    >>> reference, candidate = "Worsening effusion. Stable nodule.", "Improving effusion. Stable nodule."
    >>> TemporalF1().score([reference], [candidate]).total
    tensor([0.5000])
    """

    config_name = "temporal_f1.json"
    title = "Temporal F1 (rules)"
    total_range = (0.0, 1.0)
    requires_report = True

    def mark_findings(
        self, evidence: Mapping[str, Sequence[tuple[str, str]]], texts: Mapping[Side, str]
    ) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return unmatched_parts(evidence)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        changes = {text: _changes(text) for text in (*references, *candidates)}
        rows = [(changes[first], changes[second]) for first, second in zip(references, candidates, strict=True)]
        total = torch.tensor([set_f1(*row) for row in rows], dtype=torch.float32)
        status = tuple(STATUS_OK if any(row) else STATUS_NO_CHANGE for row in rows)
        evidence = tuple({"missing": sorted(ref - cand), "extra": sorted(cand - ref)} for ref, cand in rows)
        return Scores(total, None, None, status, evidence)


def _changes(text: str) -> set[tuple[str, str]]:
    return {(fact.finding, fact.change) for fact in parse_report(text).facts if fact.change is not None}
