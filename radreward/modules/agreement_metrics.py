"""Agreement of rewards and predicted counts with known errors, and its table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from radreward.criteria import Criteria, finding_quality
from radreward.io.numbers import finite_or_none
from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import text_frame
from radreward.metrics import CountError, KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.metrics.functional import count_concordant_pairs, error_auc, kendall_tau_b, spearman
from radreward.models import Calibration
from radreward.models.calibration import calibrate_finding_weights, calibrated_quality
from radreward.modules.predictions import PredictedCounts, ScoredCandidates
from radreward.types import FindingWeightsBatch

if TYPE_CHECKING:
    from radreward.modules.exporter import MetricTable

METRIC_TITLES = {
    "tau_b": "τ-b",
    "max_tau_b": "max",
    "auc": "AUC",
    "spearman": "ρ",
    "pair_accuracy": "pairs",
    "count_tau_b": "counts",
    "count_mae": "MAE",
}
"""Kendall's τ-b and its maximum for scores without ties, `error_auc`, Spearman's ρ, share of correctly ordered pairs
within a group, τ-b of rounded counts, which tie as targets do and whose maximum is 1, mean absolute error of counts."""


def reward_agreement(criteria: Criteria, candidates: ScoredCandidates, counts: Tensor | None) -> MetricTable:
    """Return rank correlations, pair accuracy and count errors, per criterion and in total.

    Args:
        criteria: N criteria. In the total, rewards, targets and unweighted counts are summed over criteria.
        candidates: Rewards and target errors of n candidates.
        counts: (n, N) expected errors; None if unavailable.

    Returns:
        Per criterion and for "total": tau_b, max_tau_b, auc, spearman, pair_accuracy and, with `counts`, count_tau_b,
        count_mae and accuracy, the share of exact rounded counts; None if a metric is undefined, see
        `undefined_auc_notes`. For a binary criterion, accuracy is the accuracy of the classification (ER²Score, Table
        3).
    """
    tags, targets = criteria.tags, criteria.target_rewards(candidates.errors)
    columns = _ranking_metrics(
        tags, candidates.rewards, targets, candidates.group, has_errors(criteria, candidates.errors)
    )
    if counts is not None:
        rounded, error = KendallTauB(tags), CountError(tags)
        rounded.update(criteria.target_rewards(counts.round()), targets)
        columns["count_tau_b"] = rounded.compute()
        error.update(counts, candidates.errors)
        errors = error.compute()
        columns["count_mae"] = {tag: errors[f"{tag}/mae"] for tag in (*tags, "total")}
        columns["accuracy"] = {tag: errors[f"{tag}/accuracy"] for tag in (*tags, "total")}
    return _by_row(columns)


def total_agreement(criteria: Criteria, totals: Tensor, errors: Tensor, group: Tensor) -> MetricTable:
    """Return the metrics of `reward_agreement` for a score without sub-scores; the only row is "total".

    Args:
        criteria: N criteria of the errors.
        totals: (n,) scores, higher is better.
        errors: (n, N) target errors.
        group: (n,) int64 index of the reference.
    """
    target = criteria.total(criteria.target_rewards(errors))
    return _by_row(_ranking_metrics((), totals, target, group, has_errors(criteria, errors)[:, -1:]))


def has_errors(criteria: Criteria, errors: Tensor) -> Tensor:
    """Return (n, N + 1) bool: candidates with an error per criterion, and in total; a rating is no error.

    >>> from radreward.criteria import RadCliQCriteria
    >>> has_errors(RadCliQCriteria(), torch.eye(6)[:1]).int().tolist()
    [[1, 0, 0, 0, 0, 0, 1]]
    """
    is_error = torch.tensor([criterion.kind != "rating" for criterion in criteria.criteria])
    present = (errors > 0) & is_error
    return torch.cat([present, present.any(1, keepdim=True)], 1)


def errors_by_row(criteria: Criteria, errors: Tensor) -> dict[str, Tensor]:
    """Return the columns of `has_errors` by the rows of a metric table."""
    return dict(zip((*criteria.tags, "total"), has_errors(criteria, errors).T, strict=True))


def undefined_auc_notes(agreement: MetricTable, wrong: Mapping[str, Tensor]) -> list[str]:
    """Return one line per row of `agreement` with an undefined AUC, with the reason.

    `wrong` has the (n,) bool mask of the candidates with an error per row, and possibly further rows.
    """
    notes = []
    for row, has_error in wrong.items():
        if row in agreement and agreement[row]["auc"] is None:
            reason = "all scores are equal"
            if has_error.all() or not has_error.any():
                reason = f"{'every' if has_error.any() else 'no'} candidate has an error"
            notes.append(f"{row}: AUC is undefined, because {reason}.")
    return notes


def _ranking_metrics(
    tags: Sequence[str], scores: Tensor, targets: Tensor, group: Tensor, wrong: Tensor
) -> dict[str, dict[str, Tensor]]:
    """Return ranking metrics per tag and in total, of (n, N) scores and targets, or of (n,) totals without tags.

    `wrong` are the candidates with an error per tag and in total, (n, N + 1) or (n, 1).
    """
    tau, rho, pairs = KendallTauB(tags), SpearmanRho(tags), PairwiseAccuracy(tags)
    tau.update(scores, targets)
    rho.update(scores, targets)
    pairs.update(scores, targets, group)
    ranked, target = (_with_sum(values.double().reshape(len(values), -1), bool(tags)) for values in (scores, targets))
    limits = {name: max_tau_b(column) for name, column in zip(tau.names, target.T, strict=True)}
    return {
        "tau_b": tau.compute(),
        "max_tau_b": limits,
        "auc": dict(zip(tau.names, error_auc(ranked, wrong), strict=True)),
        "spearman": rho.compute(),
        "pair_accuracy": pairs.compute(),
    }


def _with_sum(values: Tensor, append: bool) -> Tensor:
    return torch.cat([values, values.sum(1, keepdim=True)], 1) if append else values


def _by_row(columns: dict[str, dict[str, Tensor]]) -> MetricTable:
    """Turn metrics → rows into rows → metrics."""
    rows = columns["tau_b"]
    return {row: {name: finite_or_none(values[row], 6) for name, values in columns.items()} for row in rows}


def max_tau_b(target: Tensor) -> Tensor:
    """Return √(1 - tied pairs / pairs), the highest τ-b with `target` (n,) of values without ties.

    Rewards have no ties but targets do: most candidates have no error of a rare kind.

    >>> max_tau_b(torch.tensor([0.0, 0.0, 0.0, -1.0]))
    tensor(0.7071, dtype=torch.float64)
    """
    ties: Tensor = torch.unique(target, return_counts=True)[1].double()
    tied, pairs = (ties * (ties - 1)).sum(), len(target) * (len(target) - 1)
    return torch.sqrt(1 - tied / pairs)


def errors_agreement(predicted: Tensor, target: Tensor, group: Tensor) -> dict[str, float | None]:
    """Return the metrics of `reward_agreement` for (n,) numbers of errors; lower is better.

    `tau_b` is that of the numbers as they are, and `count_tau_b` that of the rounded numbers, which tie.

    Args:
        predicted: (n,) expected number of errors, NaN if unknown; unknown rows are left out.
        target: (n,) known number of errors.
        group: (n,) int64 index of the reference.
    """
    known = predicted.isfinite()
    predicted, target, group = predicted[known], target[known], group[known]
    row = _by_row(_ranking_metrics((), -predicted, -target, group, target.unsqueeze(1) > 0))["total"]
    return {
        **row,
        "count_tau_b": finite_or_none(kendall_tau_b(predicted.round(), target), 6),
        "count_mae": finite_or_none((predicted - target).abs().mean(), 6),
        "accuracy": finite_or_none((predicted.round() == target).float().mean(), 6),
    }


def quality_agreement(quality: Tensor, target: Tensor, group: Tensor) -> dict[str, float | None]:
    """Return the metrics of `reward_agreement` for (n,) quality; `count_mae` is the mean absolute error of quality.

    Args:
        quality: (n,) predicted.
        target: (n,) from known finding weights; unknown rows (NaN) are left out.
        group: (n,) int64 index of the reference.
    """
    is_defined = target.isfinite() & quality.isfinite()
    wrong = target[is_defined].unsqueeze(1) < 1
    row = _by_row(_ranking_metrics((), quality[is_defined], target[is_defined], group[is_defined], wrong))["total"]
    error = finite_or_none((quality - target)[is_defined].abs().mean(), 6)
    return {**row, "count_tau_b": None, "count_mae": error, "accuracy": None}


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


def cross_fitted_quality(weights: FindingWeightsBatch, group: Tensor) -> dict[str, float | None] | None:
    """Return `quality_agreement` per half of the references, calibrated on the other half; None if it is undefined."""
    quality = torch.full((len(group),), torch.nan)
    for fold in (0, 1):
        held_out = group % 2 == fold
        calibration = calibrate_finding_weights(weights.predicted[~held_out], weights.target[~held_out])
        if calibration is None:
            return None
        quality[held_out] = calibrated_quality(calibration, weights.predicted[held_out])
    matched, wrong = weights.target.unbind(1)
    return quality_agreement(quality, finding_quality(matched, wrong), group)


def predicted_count_agreement(criteria: Criteria, predicted: PredictedCounts) -> MetricTable:
    """Return rank correlations, AUC, pair accuracy, absolute error and exact accuracy, per criterion and in total.

    A missing count (NaN) counts as inexact and orders no pair correctly. Correlations and errors ignore missing counts.
    The total is the weighted sum over criteria, and is defined only if every criterion is. The accuracy of the total is
    the mean over criteria.

    Args:
        criteria: N criteria.
        predicted: Counts of these criteria.

    Returns:
        Per criterion and for "total": tau_b, auc, spearman, pair_accuracy, count_mae, accuracy and parsed, the share of
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
    rewards, target_rewards = criteria.target_rewards(counts), criteria.target_rewards(target)
    columns["total"] = (criteria.total(rewards), criteria.total(target_rewards), exact.mean(1))
    ranked, wrong = _with_sum(rewards.double(), True), has_errors(criteria, target)
    aucs = [
        finite_or_none(error_auc(scores[parsed], present[parsed]), 6)
        for scores, present in zip(ranked.T, wrong.T, strict=True)
        for parsed in (~scores.isnan(),)
    ]
    return {
        name: {**_count_metrics(*column, group), "auc": auc}
        for (name, column), auc in zip(columns.items(), aucs, strict=True)
    }


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
    return {name: finite_or_none(value, 6) for name, value in metrics.items()}


def render_metric_table(metrics: MetricTable, title: str, row_label: str = "criterion") -> TerminalTable:
    """Return a table for the terminal, the total last; `row_label` is the title of the first column."""
    names = list(metrics["total"])
    rows = [
        [tag.replace("_", " "), *("–" if values[name] is None else f"{values[name]:.2f}" for name in names)]
        for tag, values in metrics.items()
    ]
    frame = text_frame([row_label, *(METRIC_TITLES.get(name, name) for name in names)], rows)
    return TerminalTable(title, frame, separate_last_row=True)
