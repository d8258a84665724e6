"""How well rewards and counts agree with known errors: numbers for a file, and a table for people."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from rich.box import SIMPLE_HEAD
from rich.table import Table
from torch import Tensor

from radreward.criteria import Criteria
from radreward.metrics import CountError, KendallTauB, PairwiseAccuracy, Spearman
from radreward.models import Calibration
from radreward.modules.base import Figures

MEASURES = {
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


class Judged(NamedTuple):
    """Candidates whose errors are known."""

    rewards: Tensor
    """(n, N)."""
    errors: Tensor
    """(n, N)."""
    group: Tensor
    """(n,) int64: which reference."""


def agreement(criteria: Criteria, judged: Judged, counts: Tensor | None) -> Agreement:
    """τ-b, its limit, Spearman's ρ, the share of pairs ordered right and the absolute error of counts.

    Args:
        criteria: What is judged. Rewards and quality are added over them for the total, counts as they are.
        judged: Rewards and known errors.
        counts: (n, N) expected errors, if there are any.
    """
    tags, quality = criteria.tags, criteria.quality(judged.errors)
    tau, spearman, pairs, error = KendallTauB(tags), Spearman(tags), PairwiseAccuracy(tags), CountError(tags)
    tau.update(judged.rewards, quality)
    spearman.update(judged.rewards, quality)
    pairs.update(judged.rewards, quality, judged.group)
    limits = {tag: tau_b_limit(column) for tag, column in zip(tags, quality.T, strict=True)}
    limits["total"] = tau_b_limit(criteria.total(quality))
    columns = {
        "tau_b": tau.compute(),
        "tau_b_limit": limits,
        "spearman": spearman.compute(),
        "pair_accuracy": pairs.compute(),
    }
    if counts is not None:
        whole = KendallTauB(tags)
        whole.update(criteria.quality(counts.round()), quality)
        columns["count_tau_b"] = whole.compute()
        error.update(counts, judged.errors)
        found = error.compute()
        columns["count_mae"] = {tag: found[f"{tag}/mae"] for tag in (*tags, "total")}
    return {tag: {name: _number(values[tag]) for name, values in columns.items()} for tag in (*tags, "total")}


def tau_b_limit(known: Tensor) -> Tensor:
    """√(1 - tied pairs / pairs), the highest τ-b with `known` (n,) that values without ties can have.

    Rewards are never equal where errors often are: most candidates have no error of a rare kind.

    >>> tau_b_limit(torch.tensor([0.0, 0.0, 0.0, -1.0]))
    tensor(0.7071, dtype=torch.float64)
    """
    ties: Tensor = torch.unique(known, return_counts=True)[1].double()
    tied, pairs = (ties * (ties - 1)).sum(), len(known) * (len(known) - 1)
    return torch.sqrt(1 - tied / pairs)


def held_out_counts(judged: Judged) -> Tensor | None:
    """(n, N) counts of each half of the references, calibrated on the other; None with fewer than two references."""
    half = judged.group % 2
    if half.min() == half.max():
        return None
    counts = torch.empty_like(judged.errors)
    for fold in (0, 1):
        other = half != fold
        counts[~other] = Calibration.fit(judged.rewards[other], judged.errors[other]).counts(judged.rewards[~other])
    return counts


def table(result: Figures, title: str, row: str = "criterion") -> Table:
    """The numbers as a table, the total last; `row` says what a row is."""
    shown = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
    )
    shown.add_column(row, no_wrap=True)
    names = list(result["total"])
    for name in names:
        shown.add_column(MEASURES.get(name, name), justify="right")
    for tag, values in result.items():
        if tag == "total":
            shown.add_section()
        cells = (values[name] for name in names)
        shown.add_row(tag.replace("_", " "), *("–" if cell is None else f"{cell:.2f}" for cell in cells))
    return shown


def _number(value: Tensor) -> float | None:
    number = round(float(value), 6)
    return number if math.isfinite(number) else None
