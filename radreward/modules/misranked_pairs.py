"""The validation pairs that a reward model ranks most wrongly, as text."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from radreward.criteria import Criteria
from radreward.io.text_tables import escape_markdown, format_number, format_signed
from radreward.modules.tensorboard import format_texts
from radreward.types import RewardTrainingBatch

MAX_PAIRS = 5


class RankedReport(NamedTuple):
    """A candidate of a pair."""

    text: str
    errors: tuple[float, ...]
    """N errors by the data."""


class MisrankedPair(NamedTuple):
    """A pair whose rejected candidate got the higher total reward."""

    margin: float
    """Total reward of the accepted candidate minus that of the rejected one; negative."""
    reference: str
    accepted: RankedReport
    rejected: RankedReport


def misranked_pairs(batch: RewardTrainingBatch, rewards: Tensor, criteria: Criteria) -> list[MisrankedPair]:
    """Return the most wrongly ranked pairs of a batch, at most `MAX_PAIRS`.

    Args:
        batch: The batch.
        rewards: (C, N) rewards of its candidates.
        criteria: The criteria.
    """
    totals = criteria.total(rewards.float().cpu())
    errors = criteria.errors(batch.targets.rewards.float().cpu()).tolist()
    pairs = batch.targets.pairs.cpu()
    margins = (totals[pairs[:, 0]] - totals[pairs[:, 1]]).tolist()

    def report(index: int) -> RankedReport:
        return RankedReport(batch.report_pairs[index][1], tuple(errors[index]))

    wrong = sorted((margin, *pair) for margin, pair in zip(margins, pairs.tolist(), strict=True) if margin < 0)
    return [
        MisrankedPair(margin, batch.report_pairs[accepted][0], report(accepted), report(rejected))
        for margin, accepted, rejected in wrong[:MAX_PAIRS]
    ]


def most_misranked(parts: Iterable[Sequence[MisrankedPair]]) -> list[MisrankedPair]:
    """Return the most wrongly ranked pairs of all batches, at most `MAX_PAIRS`."""
    return heapq.nsmallest(MAX_PAIRS, (pair for part in parts for pair in part), key=lambda pair: pair.margin)


def format_misranked_pairs(pairs: Sequence[MisrankedPair], criteria: Criteria) -> str:
    """Return pairs as Markdown, most wrongly ranked first. Texts are code blocks; names are escaped."""
    if not pairs:
        return "No validation pair is ranked wrongly."
    return "\n\n---\n\n".join(
        f"#### {number}. The worse candidate has the higher total reward, by {format_number(-pair.margin, 2)}\n\n"
        + format_texts(
            [
                ("Reference", pair.reference),
                (f"Better candidate: {_error_list(pair.accepted, criteria)}", pair.accepted.text),
                (f"Worse candidate: {_error_list(pair.rejected, criteria)}", pair.rejected.text),
            ]
        )
        for number, pair in enumerate(pairs, 1)
    )


def _error_list(report: RankedReport, criteria: Criteria) -> str:
    """Return the errors that are not 0, such as "omission 2"."""
    present = [
        f"{escape_markdown(criterion.name)} {_count(value)}"
        for criterion, value in zip(criteria.criteria, report.errors, strict=True)
        if value
    ]
    return ", ".join(present) or "no error"


def _count(value: float) -> str:
    return str(int(value)) if value.is_integer() and value >= 0 else format_signed(value, 2).removeprefix("+")
