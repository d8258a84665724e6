"""Statements of both reports with the errors that a reward model finds in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from radreward.data.statement_tokens import StatementTokens, statement_tokens
from radreward.data.tokenizer import SegmentTokenizer
from radreward.models.evidence import TokenEvidence
from radreward.text.findings import is_related
from radreward.text.sentence_parser import sentence_facts
from radreward.types import Side

SIDES: tuple[Side, ...] = get_args(Side)
_OTHER: dict[Side, Side] = {"candidate": "reference", "reference": "candidate"}
MIN_ERRORS = 0.05
"""Errors of a criterion below it are left out of a statement."""


class StatementEvidence(NamedTuple):
    """A statement of one report, and the errors that show in it."""

    side: Side
    """Report that makes the statement: the candidate, of what is false or wrong; the reference, of what is missed."""
    text: str
    start: int
    """Offset of the first character in the normalized report."""
    end: int
    errors: Mapping[str, float]
    """Expected number of errors by criterion, those of at least `MIN_ERRORS`."""
    counterpart: str
    """Statement of the other report that denies its finding, or else the one with which it is compared most."""


def locate_errors(
    reports: Mapping[Side, str],
    evidence: Mapping[Side, TokenEvidence],
    counts: Mapping[str, float],
    tokenizer: SegmentTokenizer,
) -> tuple[StatementEvidence, ...]:
    """Return the statements of a pair with their errors, the candidate's first, in the order of the texts.

    The counts of a criterion are divided among the statements in proportion to the evidence of their tokens.

    Args:
        reports: Both normalized reports.
        evidence: Evidence of the tokens of both, with at least one kind per criterion, in their order.
        counts: Expected errors by criterion.
        tokenizer: Tokenizer of the prompts, which have nothing but the two reports.
    """
    statements = {
        side: statement_tokens(report, len(evidence[side].values), side == "reference", tokenizer)
        for side, report in reports.items()
    }
    amounts = {
        side: _sum_by_statement(part, evidence[side].values[:, : len(counts)]) for side, part in statements.items()
    }
    scale = torch.tensor(list(counts.values())) / (amounts["candidate"].sum(0) + amounts["reference"].sum(0))
    return tuple(
        StatementEvidence(
            side,
            own.words(number),
            *own.spans[number],
            {tag: share for tag, share in zip(counts, shares, strict=True) if share >= MIN_ERRORS},
            _counterpart(own, other, number, evidence[side]),
        )
        for side in SIDES
        for own, other in [(statements[side], statements[_OTHER[side]])]
        for number, shares in enumerate((amounts[side] * scale)[:-1].tolist())
    )


def _sum_by_statement(statements: StatementTokens, values: Tensor) -> Tensor:
    """Return the (M + 1, N) sums of (S, N) evidence; the last row is of tokens outside of all statements."""
    sums = torch.zeros(len(statements.spans) + 1, values.shape[1])
    return sums.index_add_(0, statements.of_token, values.float())


def _counterpart(own: StatementTokens, other: StatementTokens, number: int, evidence: TokenEvidence) -> str:
    """Return the statement of the other report that denies what a statement reports, or most of whose tokens match."""
    if denial := _denial(own.words(number), other):
        return denial
    matched = other.of_token[evidence.counterparts[own.of_token == number]]
    matched = matched[matched < len(other.spans)]
    return other.words(int(matched.mode().values)) if len(matched) else ""


def _denial(statement: str, other: StatementTokens) -> str | None:
    """Return the first statement of the other report that denies a finding of a statement, if none reports it."""
    names = _findings(statement, positive=True)
    others = [other.words(number) for number in range(len(other.spans))]
    if not names or any(_related(names, _findings(text, positive=True)) for text in others):
        return None
    return next((text for text in others if _related(names, _findings(text, positive=False))), None)


def _findings(statement: str, positive: bool) -> set[str]:
    return {fact.finding for fact in sentence_facts(statement) if fact.positive == positive}


def _related(names: set[str], others: set[str]) -> bool:
    return any(is_related(name, other) for name in names for other in others)
