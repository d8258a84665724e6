"""Agreement of rewards and predicted counts with known errors, and its table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from rich.box import SIMPLE_HEAD
from rich.table import Table
from torch import Tensor

from radreward.criteria import Criteria, finding_quality
from radreward.metrics import CountError, KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.metrics.functional import count_concordant_pairs, kendall_tau_b, spearman
from radreward.models import Calibration
from radreward.models.calibration import calibrate_findings, calibrated_quality
from radreward.modules.base import MetricTable
from radreward.modules.predictions import FindingPredictions, PredictedCounts, ScoredCandidates

METRIC_TITLES = {
    "tau_b": "τ-b",
    "max_tau_b": "max",
    "spearman": "ρ",
    "pair_accuracy": "pairs",
    "count_tau_b": "counts",
    "count_mae": "MAE",
}
"""Kendall's τ-b and its maximum, Spearman's ρ, share of correctly ordered pairs within a group, τ-b of rounded counts,
mean absolute error of counts."""


def reward_agreement(criteria: Criteria, candidates: ScoredCandidates, counts: Tensor | None) -> MetricTable:
    """Return rank correlations, pair accuracy and count errors, per criterion and in total.

    Args:
        criteria: N criteria. The total adds rewards and quality over criteria; counts are added unweighted.
        candidates: Rewards and target errors of n candidates.
        counts: (n, N) expected errors; None if unavailable.

    Returns:
        Per criterion and for "total": tau_b, max_tau_b, spearman, pair_accuracy and, with `counts`, count_tau_b and
        count_mae; None if a metric is undefined.
    """
    tags, quality = criteria.tags, criteria.quality(candidates.errors)
    columns = _ranking_metrics(tags, candidates.rewards, quality, candidates.group)
    if counts is not None:
        rounded, error = KendallTauB(tags), CountError(tags)
        rounded.update(criteria.quality(counts.round()), quality)
        columns["count_tau_b"] = rounded.compute()
        error.update(counts, candidates.errors)
        errors = error.compute()
        columns["count_mae"] = {tag: errors[f"{tag}/mae"] for tag in (*tags, "total")}
    return _by_row(columns)


def total_agreement(criteria: Criteria, totals: Tensor, errors: Tensor, group: Tensor) -> MetricTable:
    """Return the metrics of `reward_agreement` for a score without sub-scores; the only row is "total".

    Args:
        criteria: N criteria of the errors.
        totals: (n,) scores, higher is better.
        errors: (n, N) target errors.
        group: (n,) int64 index of the reference.
    """
    return _by_row(_ranking_metrics((), totals, criteria.total_quality(criteria.quality(errors)), group))


def _ranking_metrics(
    tags: Sequence[str], scores: Tensor, quality: Tensor, group: Tensor
) -> dict[str, dict[str, Tensor]]:
    """Return ranking metrics per tag and in total, of (n, N) scores and quality, or of (n,) totals without tags."""
    tau, rho, pairs = KendallTauB(tags), SpearmanRho(tags), PairwiseAccuracy(tags)
    tau.update(scores, quality)
    rho.update(scores, quality)
    pairs.update(scores, quality, group)
    target = quality.double().reshape(len(quality), -1)
    if tags:
        target = torch.cat([target, target.sum(1, keepdim=True)], 1)
    limits = {name: max_tau_b(column) for name, column in zip(tau.names, target.T, strict=True)}
    return {
        "tau_b": tau.compute(),
        "max_tau_b": limits,
        "spearman": rho.compute(),
        "pair_accuracy": pairs.compute(),
    }


def _by_row(columns: dict[str, dict[str, Tensor]]) -> MetricTable:
    """Turn metrics → rows into rows → metrics."""
    rows = columns["tau_b"]
    return {row: {name: _rounded_or_none(values[row]) for name, values in columns.items()} for row in rows}


def max_tau_b(target: Tensor) -> Tensor:
    """Return √(1 - tied pairs / pairs), the highest τ-b with `target` (n,) of values without ties.

    Rewards have no ties but targets do: most candidates have no error of a rare kind.

    >>> max_tau_b(torch.tensor([0.0, 0.0, 0.0, -1.0]))
    tensor(0.7071, dtype=torch.float64)
    """
    ties: Tensor = torch.unique(target, return_counts=True)[1].double()
    tied, pairs = (ties * (ties - 1)).sum(), len(target) * (len(target) - 1)
    return torch.sqrt(1 - tied / pairs)


def quality_agreement(quality: Tensor, target: Tensor, group: Tensor) -> dict[str, float | None]:
    """Return the metrics of `reward_agreement` for (n,) quality; `count_mae` is the mean absolute error of quality.

    Args:
        quality: (n,) predicted.
        target: (n,) from known weights of findings; unknown rows (NaN) are left out.
        group: (n,) int64 index of the reference.
    """
    known = target.isfinite() & quality.isfinite()
    row = _by_row(_ranking_metrics((), quality[known], target[known], group[known]))["total"]
    return {**row, "count_tau_b": None, "count_mae": _rounded_or_none((quality - target)[known].abs().mean())}


def cross_fitted_counts(candidates: ScoredCandidates) -> Tensor | None:
    """Return (n, N) counts per half of the references, calibrated on the other half; None for fewer than two groups."""
    half = candidates.group % 2
    if half.min() == half.max():
        return None
    counts = torch.empty_like(candidates.errors)
    for fold in (0, 1):
        fit = half != fold
        calibration = Calibration.fit(candidates.rewards[fit], candidates.errors[fit])
        counts[~fit] = calibration.predict_counts(candidates.rewards[~fit])
    return counts


def cross_fitted_quality(findings: FindingPredictions, group: Tensor) -> dict[str, float | None] | None:
    """Return `quality_agreement` per half of the references, calibrated on the other half; None if it is undefined."""
    quality = torch.full((len(group),), torch.nan)
    for fold in (0, 1):
        held_out = group % 2 == fold
        calibration = calibrate_findings(findings.predicted[~held_out], findings.target[~held_out])
        if calibration is None:
            return None
        quality[held_out] = calibrated_quality(calibration, findings.predicted[held_out])
    matched, wrong = findings.target.unbind(1)
    return quality_agreement(quality, finding_quality(matched, wrong), group)


def predicted_count_agreement(criteria: Criteria, predicted: PredictedCounts) -> MetricTable:
    """Return rank correlations, pair accuracy, absolute error and exact accuracy, per criterion and in total.

    A missing count (NaN) is not exact and orders no pair correctly; correlations and errors use the other counts. The
    total is the weighted sum over criteria, defined only if every criterion is; its accuracy is the mean over criteria.

    Args:
        criteria: N criteria.
        predicted: Counts of these criteria.

    Returns:
        Per criterion and for "total": tau_b, spearman, pair_accuracy, count_mae, accuracy and parsed, the share of
        counts that were parsed; None if a metric is undefined.

    >>> from radreward.criteria import Criterion
    >>> criteria = Criteria("one", [Criterion("omission", "Left out.")])
    >>> counts, target = torch.tensor([[0.0], [2.0], [torch.nan]]), torch.tensor([[0.0], [1.0], [1.0]])
    >>> predicted_count_agreement(criteria, PredictedCounts(counts, target, ("a", "a", "a")))["total"]["pair_accuracy"]
    0.5
    """
    counts, target, group = predicted.counts, predicted.target, predicted.group
    exact = (counts.round() == target).float()
    columns = {tag: (counts[:, j], target[:, j], exact[:, j]) for j, tag in enumerate(criteria.tags)}
    totals = [criteria.total_quality(criteria.quality(part)) for part in (counts, target)]
    columns["total"] = (totals[0], totals[1], exact.mean(1))
    return {name: _count_metrics(*column, group) for name, column in columns.items()}


def _count_metrics(values: Tensor, target: Tensor, exact: Tensor, group: Tensor) -> dict[str, float | None]:
    parsed = ~values.isnan()
    parsed_values, parsed_target = values[parsed], target[parsed]
    concordant, comparable = count_concordant_pairs(values.unsqueeze(1), target.unsqueeze(1), group)
    metrics = {
        "tau_b": kendall_tau_b(parsed_values, parsed_target),
        "spearman": spearman(parsed_values, parsed_target),
        "pair_accuracy": concordant.sum() / comparable.sum(),
        "count_mae": (parsed_values - parsed_target).abs().mean(),
        "accuracy": exact.mean(),
        "parsed": parsed.float().mean(),
    }
    return {name: _rounded_or_none(value) for name, value in metrics.items()}


def render_metric_table(metrics: MetricTable, title: str, row_label: str = "criterion") -> Table:
    """Return a table for the terminal, the total last.

    Args:
        metrics: Rows of metrics.
        title: Title of the table.
        row_label: Title of the first column.
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
    )
    table.add_column(row_label, no_wrap=True)
    names = list(metrics["total"])
    for name in names:
        table.add_column(METRIC_TITLES.get(name, name), justify="right")
    for tag, values in metrics.items():
        if tag == "total":
            table.add_section()
        cells = (values[name] for name in names)
        table.add_row(tag.replace("_", " "), *("–" if cell is None else f"{cell:.2f}" for cell in cells))
    return table


def _rounded_or_none(value: Tensor) -> float | None:
    number = round(float(value), 6)
    return number if math.isfinite(number) else None
