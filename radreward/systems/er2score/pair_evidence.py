"""Evidence of a pair by statement; a statement that both reports have shows no error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.data.statement_tokens import StatementTokens, statement_tokens
from radreward.data.tokenizer import SegmentTokenizer
from radreward.models.evidence import TokenEvidence, sum_evidence
from radreward.text.normalization import wording_key
from radreward.types import Side


class PairStatements(NamedTuple):
    """Statements of both reports, with the evidence of their tokens."""

    statements: Mapping[Side, StatementTokens]
    evidence: Mapping[Side, TokenEvidence]
    """0 for errors and for the wrong weight at tokens outside of statements, and of statements of both reports."""

    def sums(self, num_criteria: int) -> Tensor:
        """Return the (K,) sums over both reports, see `sum_evidence`."""
        return sum(
            (sum_evidence(part.values.float(), num_criteria) for part in self.evidence.values()), start=torch.zeros(())
        )


def pair_statements(
    reports: Mapping[Side, str],
    evidence: Mapping[Side, TokenEvidence],
    num_criteria: int,
    tokenizer: SegmentTokenizer,
) -> PairStatements:
    """Return the statements of a pair. Those that both reports have show no error, see `wording_key`.

    If one of the reports contradicts a shared statement elsewhere, the contradiction shows the error. The evidence of
    the matched weight remains.

    Args:
        reports: Both normalized reports.
        evidence: Evidence of the tokens of both: one column per criterion, then the matched and the wrong weight.
        num_criteria: Number of criteria.
        tokenizer: Tokenizer of the prompts, which contain only the two reports.
    """
    statements = {
        side: statement_tokens(report, len(evidence[side].values), side is Side.REFERENCE, tokenizer)
        for side, report in reports.items()
    }
    has_one_wording = len({wording_key(report) for report in reports.values()}) == 1
    keys = {
        side: [wording_key(part.words(index)) for index in range(len(part.spans))] for side, part in statements.items()
    }
    counted = {}
    for side, part in statements.items():
        others = set(keys[side.other])
        shows_errors = torch.tensor([not has_one_wording and key not in others for key in keys[side]] + [False])
        values = evidence[side].values.clone()
        values[~shows_errors[part.of_token], :num_criteria] = 0.0
        values[~shows_errors[part.of_token], num_criteria + 1 :] = 0.0
        counted[side] = evidence[side]._replace(values=values)
    return PairStatements(statements, counted)
