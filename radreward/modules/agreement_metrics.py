"""How well rewards and counts agree with known errors: numbers for a file, and a table for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from rich.box import SIMPLE_HEAD
from rich.table import Table
from torch import Tensor

from radreward.criteria import Criteria
from radreward.metrics import CountError, KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.models import Calibration
from radreward.modules.base import MetricTable

METRIC_TITLES = {
    "tau_b": "τ-b",
    "tau_b_limit": "most",
    "spearman": "ρ",
    "pair_accuracy": "pairs",
    "count_tau_b": "counts",
    "count_mae": "MAE",
}
"""τ-b, and what a perfect ranking would have; Spearman's ρ; pairs of one reference ordered right; τ-b of the counts,
rounded to whole errors; their absolute error."""

Agreement = dict[str, dict[str, float | None]]
"""Per criterion and for "total", the measures; None where one is not defined, as for a criterion that never varies."""


class ScoredCandidates(NamedTuple):
    """Candidates whose errors are known."""

    rewards: Tensor
    """(n, N)."""
    errors: Tensor
    """(n, N)."""
    group: Tensor
    """(n,) int64: which reference."""


def reward_agreement(criteria: Criteria, candidates: ScoredCandidates, counts: Tensor | None) -> Agreement:
    """τ-b, its limit, Spearman's ρ, the share of pairs ordered right and the absolute error of counts.

    Args:
        criteria: What is judged. Rewards and quality are added over them for the total, counts as they are.
        judged: Rewards and known errors.
        counts: (n, N) expected errors, if there are any.
    """
    tags, quality = criteria.tags, criteria.quality(candidates.errors)
    columns = _ranking_metrics(tags, candidates.rewards, quality, candidates.group)
    if counts is not None:
        whole, error = KendallTauB(tags), CountError(tags)
        whole.update(criteria.quality(counts.round()), quality)
        columns["count_tau_b"] = whole.compute()
        error.update(counts, candidates.errors)
        found = error.compute()
        columns["count_mae"] = {tag: found[f"{tag}/mae"] for tag in (*tags, "total")}
    return _by_row(columns)


def total_agreement(criteria: Criteria, totals: Tensor, errors: Tensor, group: Tensor) -> Agreement:
    """As `agreement`, of a score without parts.

    Args:
        criteria: What the errors are stated by.
        totals: (n,) scores, higher is better.
        errors: (n, N) known errors.
        group: (n,) int64: which reference.
    """
    return _by_row(_ranking_metrics((), totals, criteria.total_quality(criteria.quality(errors)), group))


def _ranking_metrics(
    tags: Sequence[str], scores: Tensor, quality: Tensor, group: Tensor
) -> dict[str, dict[str, Tensor]]:
    """Measures of order, by tag and in total: (n, N) scores and quality, or (n,) totals where there are no tags."""
    tau, spearman, pairs = KendallTauB(tags), SpearmanRho(tags), PairwiseAccuracy(tags)
    tau.update(scores, quality)
    spearman.update(scores, quality)
    pairs.update(scores, quality, group)
    known, _ = tau._with_total(quality, quality)
    limits = {name: max_tau_b(column) for name, column in zip(tau.names, known.T, strict=True)}
    return {
        "tau_b": tau.compute(),
        "tau_b_limit": limits,
        "spearman": spearman.compute(),
        "pair_accuracy": pairs.compute(),
    }


def _by_row(columns: dict[str, dict[str, Tensor]]) -> Agreement:
    """Measures by name and row to rows by name and measure."""
    rows = columns["tau_b"]
    return {row: {name: _rounded_or_none(values[row]) for name, values in columns.items()} for row in rows}


def max_tau_b(target: Tensor) -> Tensor:
    """√(1 - tied pairs / pairs), the highest τ-b with `known` (n,) that values without ties can have.

    Rewards are never equal where errors often are: most candidates have no error of a rare kind.

    >>> tau_b_limit(torch.tensor([0.0, 0.0, 0.0, -1.0]))
    tensor(0.7071, dtype=torch.float64)
    """
    ties: Tensor = torch.unique(target, return_counts=True)[1].double()
    tied, pairs = (ties * (ties - 1)).sum(), len(target) * (len(target) - 1)
    return torch.sqrt(1 - tied / pairs)


def cross_fitted_counts(candidates: ScoredCandidates) -> Tensor | None:
    """(n, N) counts of each half of the references, calibrated on the other; None with fewer than two references."""
    half = candidates.group % 2
    if half.min() == half.max():
        return None
    counts = torch.empty_like(candidates.errors)
    for fold in (0, 1):
        other = half != fold
        counts[~other] = Calibration.fit(candidates.rewards[other], candidates.errors[other]).predict_counts(
            candidates.rewards[~other]
        )
    return counts


def render_metric_table(metrics: MetricTable, title: str, row_label: str = "criterion") -> Table:
    """The numbers as a table, the total last; `row` says what a row is."""
    shown = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
    )
    shown.add_column(row_label, no_wrap=True)
    names = list(metrics["total"])
    for name in names:
        shown.add_column(METRIC_TITLES.get(name, name), justify="right")
    for tag, values in metrics.items():
        if tag == "total":
            shown.add_section()
        cells = (values[name] for name in names)
        shown.add_row(tag.replace("_", " "), *("–" if cell is None else f"{cell:.2f}" for cell in cells))
    return shown


def _rounded_or_none(value: Tensor) -> float | None:
    number = round(float(value), 6)
    return number if math.isfinite(number) else None
