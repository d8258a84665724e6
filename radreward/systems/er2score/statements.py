"""Statements of both reports, with the errors that a reward model locates in them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.data.statement_tokens import StatementTokens
from radreward.models.marked_findings import IN_BOTH, MarkedFinding, criterion_name, kind_of_error
from radreward.models.statement_comparison import FindingKind
from radreward.systems.er2score.pair_evidence import PairStatements
from radreward.text.findings import is_related
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.types import Side

MIN_ERRORS = 0.05
"""Smallest number of errors of a criterion that is listed for a statement."""
LIKELY_ERRORS = 0.5
"""Expected errors of a criterion from which a statement is marked."""


class StatementEvidence(NamedTuple):
    """A statement of one report, with its located errors."""

    side: Side
    """Report that contains the statement: the candidate for false or wrong findings, the reference for missed ones."""
    text: str
    start: int
    """Offset of the first character in the normalized report."""
    end: int
    errors: Mapping[str, float]
    """Expected number of errors per criterion. Numbers below `MIN_ERRORS` are left out."""
    counterpart: str
    """Statement of the other report on the same finding, else the one that most tokens are compared with, or ""."""
    is_unread: bool = False
    """True if it reports a finding in words that the rules do not know, so that the model alone judges it."""


def locate_errors(pair: PairStatements, counts: Tensor) -> Mapping[Side, Tensor]:
    """Return the (M + 1, N) errors of the M statements of each report, and of the tokens outside of them.

    The expected errors of a criterion are divided in proportion to the evidence of the tokens.

    Args:
        pair: Statements with the evidence of their tokens. The first N columns belong to the criteria.
        counts: (N,) expected errors per criterion.
    """
    amounts = {
        side: sum_by_statement(statements, pair.evidence[side].values[:, : len(counts)])
        for side, statements in pair.statements.items()
    }
    total = torch.stack([part.sum(0) for part in amounts.values()]).sum(0)
    return {side: part * (counts / total.clamp_min(1e-12)) for side, part in amounts.items()}


def list_errors(
    pair: PairStatements, errors: Mapping[Side, Tensor], tags: Sequence[str], unread: Container[str] = ()
) -> tuple[StatementEvidence, ...]:
    """Return the statements of a pair with their errors: first the candidate's, then the reference's, in text order.

    Args:
        pair: Statements with the evidence of their tokens.
        errors: (M + 1, N) errors of the M statements of each report, see `locate_errors`.
        tags: The criteria of the N columns.
        unread: Texts of the statements that rules do not read although they report a finding.
    """
    texts = {side: [part.words(index) for index in range(len(part.spans))] for side, part in pair.statements.items()}
    return tuple(
        StatementEvidence(
            side,
            text,
            *pair.statements[side].spans[number],
            {tag: share for tag, share in zip(tags, shares, strict=True) if share >= MIN_ERRORS},
            _same_finding(text, texts[side.other]) or _compared(pair, side, number, texts[side.other]) or "",
            text in unread,
        )
        for side in (Side.CANDIDATE, Side.REFERENCE)
        for number, (text, shares) in enumerate(zip(texts[side], errors[side][:-1].tolist(), strict=True))
    )


def sum_by_statement(statements: StatementTokens, values: Tensor) -> Tensor:
    """Return (M + 1, N) sums of the (S, N) values of tokens. The last row sums tokens outside of all M statements."""
    sums = torch.zeros(len(statements.spans) + 1, values.shape[1])
    return sums.index_add_(0, statements.of_token, values.float())


def _compared(pair: PairStatements, side: Side, number: int, others: Sequence[str]) -> str | None:
    """Return the other report's statement that most tokens of a statement are compared with, else one in its words."""
    own, other = pair.statements[side], pair.statements[side.other]
    matched = other.of_token[pair.evidence[side].counterparts[own.of_token == number]]
    matched = matched[matched < len(others)]
    if len(matched):
        return others[int(matched.mode().values)]
    return own.words(number) if own.words(number) in others else None


def _same_finding(statement: str, others: Sequence[str]) -> str | None:
    """Return the statement that the model cannot compare with this one because one of them only denies findings.

    For a statement that reports findings: the first other one that denies them, unless others report them. For a
    statement that only denies: the first other one that denies the same findings, else the first that reports them.
    """
    names = _findings(statement, positive=True)
    about = names or _findings(statement, positive=False)
    if not about:
        return None
    reporting = (text for text in others if _related(about, _findings(text, positive=True)))
    denying = (text for text in others if _related(about, _findings(text, positive=False)))
    if names:
        return None if next(reporting, None) else next(denying, None)
    return next(denying, None) or next(reporting, None)


@lru_cache(CACHED_SENTENCES)
def _findings(statement: str, positive: bool) -> frozenset[str]:
    """Return the findings that a statement reports or denies."""
    return frozenset(fact.finding for fact in sentence_facts(statement) if fact.positive == positive)


@lru_cache(20_000)
def _related(names: frozenset[str], others: frozenset[str]) -> bool:
    return any(is_related(name, other) for name in names for other in others)


def mark_statements(statements: Sequence[StatementEvidence]) -> Iterator[MarkedFinding]:
    """Yield the statements with a likely error, and the pairs of counterparts of which neither has one.

    The counterpart of a statement that differs gets the same kind.
    """
    by_text = {(entry.side, entry.text): entry for entry in statements}
    for entry in statements:
        other = by_text.get((entry.side.other, entry.counterpart))
        partner = other if other and other.counterpart == entry.text else None
        own, others = _likely_kind(entry), _likely_kind(partner) if partner else None
        kind = own or ("differs" if others == "differs" else "matched" if partner and not others else None)
        if kind:
            criterion = ", ".join(criterion_name(tag) for tag, value in entry.errors.items() if value >= LIKELY_ERRORS)
            counterpart = entry.counterpart if kind in IN_BOTH else ""
            yield MarkedFinding(entry.side, kind, entry.text, entry.start, entry.end, counterpart, criterion)


def _likely_kind(entry: StatementEvidence) -> FindingKind | None:
    """Return the kind of the most likely error in a statement, or None if none is likely."""
    tag, value = max(entry.errors.items(), key=lambda item: item[1], default=("", 0.0))
    return kind_of_error(tag) if value >= LIKELY_ERRORS else None
