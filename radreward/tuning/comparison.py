"""Comparison of finished runs: metrics over seeds, and each group of runs against a baseline."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.errors import InputError
from radreward.io.numbers import finite_or_none
from radreward.statistics.paired_tests import concordant_pairs, holm, paired_differences
from radreward.tuning.run_groups import RunGroup, group_by_seed, group_by_setting
from radreward.tuning.runs import VALIDATION_FILE, FinishedRun

Floats = NDArray[np.float64]
MIN_REFERENCES = 6
"""With fewer, no difference can be significant: `smallest_p_value` is above 0.05, and the interval is too narrow."""
METRICS = ("tau_b", "spearman", "pair_accuracy", "count_mae")
"""Metrics that `fit` computes for every run, see `radreward.modules.agreement_metrics`."""


class MeanStd(NamedTuple):
    """A metric over the runs of a group.

    Attributes:
        mean: None if undefined in a run.
        std: Sample standard deviation over the runs; None for one run.
    """

    mean: float | None
    std: float | None


class Difference(NamedTuple):
    """Pair accuracy of a group minus that of the baseline; None with fewer than `MIN_REFERENCES` references.

    Attributes:
        references: Number of references with comparable pairs.
        mean: The difference.
        low: Lower bound of its 95 % bootstrap interval.
        high: Upper bound.
        p: p-value of the sign-flip test over references.
        p_holm: `p`, Holm-corrected: for the total over groups, for criteria over groups and criteria.
    """

    references: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Groups of runs side by side.

    Attributes:
        run_groups: Groups in the order of their runs.
        baseline_index: Index of the group that the others are tested against.
        metrics: Criterion or "total" → metrics of each group.
        differences: Criterion or "total" → difference of each group to the baseline; None for the baseline.
        num_candidates: Number of validated candidates, equal in all runs.
        num_references: Number of references.
    """

    run_groups: tuple[RunGroup, ...]
    baseline_index: int
    metrics: Mapping[str, tuple[Mapping[str, MeanStd], ...]]
    differences: Mapping[str, tuple[Difference | None, ...]]
    num_candidates: int
    num_references: int


def compare(
    runs: Sequence[FinishedRun], group_by: str | None = None, baseline: str | None = None, seed: int = 0
) -> Comparison:
    """Compare runs on their validation candidates.

    Args:
        runs: Finished runs with the same criteria and validation candidates.
        group_by: Setting whose values define the groups. By default, runs that differ only in their seed are a group.
        baseline: Name of the group that the others are tested against. Defaults to the first group.
        seed: Seed of the resampling.

    Raises:
        InputError: If criteria or candidates differ, or the setting or baseline does not exist.
    """
    for run in runs[1:]:
        _check_comparable(runs[0], run)
    groups = tuple(group_by_seed(runs) if group_by is None else group_by_setting(runs, group_by))
    names = [group.name for group in groups]
    if baseline is not None and baseline not in names:
        raise InputError(f"--baseline {baseline}: Expected one of: {'; '.join(names)}.")
    baseline_index = 0 if baseline is None else names.index(baseline)
    tags = (*runs[0].criteria.tags, "total")
    validation = runs[0].validation
    return Comparison(
        run_groups=groups,
        baseline_index=baseline_index,
        metrics={tag: tuple(_mean_metrics(group, tag) for group in groups) for tag in tags},
        differences=_differences_to_baseline(groups, baseline_index, tags, seed),
        num_candidates=len(validation.group),
        num_references=len(np.unique(validation.group)),
    )


def _check_comparable(first: FinishedRun, second: FinishedRun) -> None:
    """Check that two runs have the same criteria and validation candidates.

    Raises:
        InputError: If they differ. The message names both files and the first difference.
    """
    _check_criteria(first, second)
    files = [run.folder / VALIDATION_FILE for run in (first, second)]
    a, b = first.validation, second.validation
    if len(a.group) != len(b.group):
        raise _mismatch_error(files, "validation data", f"{len(a.group)} candidates", f"{len(b.group)}")

    def describe(row: int) -> list[str]:
        return [f"candidate {run.candidate[row]} of reference {str(run.group[row])!r}" for run in (a, b)]

    different = (a.group != b.group) | (a.candidate != b.candidate)
    if different.any():
        raise _mismatch_error(files, "validation data", *describe(int(different.argmax())))
    wrong = ~np.isclose(a.errors, b.errors)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        text = f"{a.errors[row, column]:g} {first.criteria.tags[column]} in {describe(row)[0]}"
        raise _mismatch_error(files, "validation data", text, f"{b.errors[row, column]:g}")


def _check_criteria(first: FinishedRun, second: FinishedRun) -> None:
    files = [run.model_config for run in (first, second)]
    if first.criteria.tags != second.criteria.tags:
        texts = [f"{run.criteria.name} with {', '.join(run.criteria.tags)}" for run in (first, second)]
        raise _mismatch_error(files, "criteria", *texts)
    for a, b in zip(first.criteria.criteria, second.criteria.criteria, strict=True):
        if a.weight != b.weight:
            raise _mismatch_error(files, "criteria", f"weight {a.weight:g} of {a.tag}", f"{b.weight:g}")


def _mismatch_error(files: Sequence[Path], what: str, first: str, second: str) -> InputError:
    return InputError(f"{files[0]} and {files[1]}: Expected the same {what} but got {first} against {second}.")


def _mean_metrics(group: RunGroup, tag: str) -> dict[str, MeanStd]:
    return {name: mean_std([run.agreement[tag].get(name) for run in group.runs]) for name in METRICS}


def mean_std(values: Sequence[float | None]) -> MeanStd:
    """Return mean and sample standard deviation.

    >>> mean_std([0.5, 0.75])
    MeanStd(mean=0.625, std=0.1767766952966369)
    >>> mean_std([0.5, None])
    MeanStd(mean=None, std=None)
    """
    defined = [value for value in values if value is not None]
    if len(defined) < len(values):
        return MeanStd(None, None)
    return MeanStd(statistics.fmean(defined), statistics.stdev(defined) if len(defined) > 1 else None)


def _differences_to_baseline(
    groups: Sequence[RunGroup], baseline_index: int, tags: Sequence[str], seed: int
) -> dict[str, tuple[Difference | None, ...]]:
    others = [index for index in range(len(groups)) if index != baseline_index]
    if not others:
        return {tag: (None,) for tag in tags}
    counts = [_mean_concordant_pairs(group) for group in groups]
    baseline, comparable = counts[baseline_index]
    paired = paired_differences(  # in one call, so that all groups share the resampled references
        np.hstack([counts[index][0] for index in others]),
        np.hstack([baseline] * len(others)),
        np.hstack([comparable] * len(others)),
        seed,
    )
    num_references = (comparable > 0).sum(0)  # (N + 1,)
    enough = num_references >= MIN_REFERENCES
    mean, low, high, p = (np.where(enough, values.reshape(len(others), len(tags)), np.nan) for values in paired)
    corrected = np.empty_like(p)
    corrected[:, -1] = holm(p[:, -1].tolist())  # the total
    corrected[:, :-1] = np.reshape(holm(p[:, :-1].ravel().tolist()), p[:, :-1].shape)
    cells = np.stack([mean, low, high, p, corrected], axis=-1)  # (groups, criteria and total, fields)
    rows = dict(zip(others, cells, strict=True))
    return {
        tag: tuple(
            _to_difference(int(num_references[column]), rows[index][column]) if index in rows else None
            for index in range(len(groups))
        )
        for column, tag in enumerate(tags)
    }


def _to_difference(num_references: int, cell: Floats) -> Difference:
    return Difference(num_references, *map(finite_or_none, cell))


def _mean_concordant_pairs(group: RunGroup) -> tuple[Floats, Floats]:
    """Return concordant pairs per reference, mean over runs, and comparable pairs: (G, N + 1), the total last."""
    counts = [_concordant_pairs(run) for run in group.runs]
    return np.mean([concordant for concordant, _ in counts], 0), counts[0][1]


def _concordant_pairs(run: FinishedRun) -> tuple[Floats, Floats]:
    # float32 as in the metrics of `fit`, so that equal totals stay equal.
    weights = np.array([criterion.weight for criterion in run.criteria.criteria], dtype=np.float32)
    targets = (-run.validation.errors.astype(np.float32) * weights).astype(np.float64)
    rewards, target = (
        np.hstack([values, values.sum(1, keepdims=True)]) for values in (run.validation.rewards, targets)
    )
    return concordant_pairs(rewards, target, run.validation.group)
