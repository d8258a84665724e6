"""Runs side by side: figures over seeds, and each arm against one of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.comparison.run_groups import RunGroup, group_by_seed, group_by_setting
from radreward.comparison.runs import VALIDATION_FILE, FinishedRun
from radreward.errors import InputError
from radreward.statistics.paired_tests import concordant_pairs, holm, paired_differences

METRICS = ("tau_b", "spearman", "pair_accuracy", "count_mae")
"""What `fit` measured of every run: see `radreward.modules.agreement_metrics`."""


class MeanStd(NamedTuple):
    """A figure over the runs of an arm.

    Attributes:
        mean: None where it is not defined in every run.
        sd: Standard deviation over the runs (divided by n - 1); None for one run.
    """

    mean: float | None
    std: float | None


class Difference(NamedTuple):
    """The share of pairs that an arm orders right, less that of the baseline; None where there are no pairs.

    Attributes:
        mean: The difference.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Of the sign-flip test over references.
        holm: p corrected: of the total over the arms, of the criteria over arms and criteria.
    """

    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None


class Comparison(NamedTuple):
    """Arms side by side.

    Attributes:
        arms: In the order of their runs.
        baseline: Place of the arm that the others are tested against.
        figures: By criterion and "total", for each arm, the measures.
        differences: By criterion and "total", for each arm; None for the baseline.
        candidates: How many were validated, the same in every run.
        references: Of how many references.
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
    """Compare runs on what they were validated on.

    Args:
        runs: Finished runs with the same criteria, validated on the same candidates.
        by: A setting by which they are put together; those that differ in the seed alone, where nothing is given.
        baseline: Name of the arm that the others are tested against; the first, where nothing is given.
        seed: Of the resampling.

    Raises:
        InputError: If criteria or candidates differ, or there is no such setting or arm; names files or arms.
    """
    for run in runs[1:]:
        check_comparable(runs[0], run)
    arms = tuple(group_by_seed(runs) if group_by is None else group_by_setting(runs, group_by))
    names = [arm.name for arm in arms]
    if baseline is not None and baseline not in names:
        raise InputError(f"--baseline {baseline}: Expected one of: {'; '.join(names)}.")
    base = 0 if baseline is None else names.index(baseline)
    tags = (*runs[0].criteria.tags, "total")
    validated = runs[0].validation
    return Comparison(
        arms,
        base,
        {tag: tuple(_mean_metrics(arm, tag) for arm in arms) for tag in tags},
        _differences_to_baseline(arms, base, tags, seed),
        len(validated.group),
        len(np.unique(validated.group)),
    )


def check_comparable(first: FinishedRun, second: FinishedRun) -> None:
    """Whether two runs can be compared.

    Raises:
        InputError: If they have other criteria or were validated on other candidates; names both files and what
            differs.
    """
    files = [run.model_config for run in (first, second)]
    ours, theirs = first.criteria, second.criteria
    if ours.tags != theirs.tags:
        raise _mismatch_error(
            files,
            "criteria",
            f"{ours.name} with {', '.join(ours.tags)}",
            f"{theirs.name} with {', '.join(theirs.tags)}",
        )
    for mine, yours in zip(ours.criteria, theirs.criteria, strict=True):
        if mine.weight != yours.weight:
            raise _mismatch_error(files, "criteria", f"{mine.tag} weighs {mine.weight:g}", f"{yours.weight:g}")
    files = [run.folder / VALIDATION_FILE for run in (first, second)]
    a, b = first.validation, second.validation
    if len(a.group) != len(b.group):
        raise _mismatch_error(files, "validation data", f"{len(a.group)} candidates", f"{len(b.group)}")
    apart = (a.group != b.group) | (a.candidate != b.candidate)
    if apart.any():
        at = int(apart.argmax())
        raise _mismatch_error(
            files,
            "validation data",
            f"candidate {a.candidate[at]} of reference {str(a.group[at])!r}",
            f"candidate {b.candidate[at]} of reference {str(b.group[at])!r}",
        )
    wrong = ~np.isclose(a.errors, b.errors)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        where = f"candidate {a.candidate[row]} of reference {str(a.group[row])!r}"
        raise _mismatch_error(
            files,
            "validation data",
            f"{a.errors[row, column]:g} {ours.tags[column]} in {where}",
            f"{b.errors[row, column]:g}",
        )


def _mismatch_error(files: Sequence[Path], what: str, first: str, second: str) -> InputError:
    return InputError(f"{files[0]} and {files[1]}: Expected the same {what} but got {first} against {second}.")


def _mean_metrics(group: RunGroup, tag: str) -> dict[str, MeanStd]:
    return {name: mean_std([run.agreement[tag].get(name) for run in group.runs]) for name in METRICS}


def mean_std(values: Sequence[float | None]) -> MeanStd:
    """Mean and standard deviation.

    >>> spread([0.5, 0.75])
    Spread(mean=0.625, sd=0.1767766952966369)
    >>> spread([0.5, None])
    Spread(mean=None, sd=None)
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return MeanStd(None, None)
    return MeanStd(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)


def _differences_to_baseline(
    run_groups: Sequence[RunGroup], baseline_index: int, tags: Sequence[str], seed: int
) -> dict[str, tuple[Difference | None, ...]]:
    right, pairs = zip(*(_mean_concordant_pairs(arm) for arm in run_groups), strict=True)
    others = [place for place in range(len(run_groups)) if place != baseline_index]
    found: dict[int, list[Difference]] = {}
    if others:  # all at once, so that references are drawn once
        paired = paired_differences(
            np.hstack([right[at] for at in others]),
            np.hstack([right[baseline_index]] * len(others)),
            np.hstack([pairs[baseline_index]] * len(others)),
            seed,
        )
        columns = [
            Difference(_nan_to_none(mean), _nan_to_none(low), _nan_to_none(high), _nan_to_none(p), None)
            for mean, low, high, p in zip(*paired, strict=True)
        ]
        found = {at: columns[rank * len(tags) : (rank + 1) * len(tags)] for rank, at in enumerate(others)}
    for family in ([len(tags) - 1], range(len(tags) - 1)):
        tests = [(place, column) for place in others for column in family]
        p = [found[place][column].p for place, column in tests]
        corrected = holm([np.nan if value is None else value for value in p])
        for (place, column), value in zip(tests, corrected, strict=True):
            found[place][column] = found[place][column]._replace(p_holm=_nan_to_none(value))
    return {
        tag: tuple(found[place][column] if place in found else None for place in range(len(run_groups)))
        for column, tag in enumerate(tags)
    }


def _mean_concordant_pairs(group: RunGroup) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pairs of each reference ordered right, mean over the runs, and all its pairs: (G, N + 1), the total last."""
    counted = [_concordant_pairs(run) for run in group.runs]
    return np.mean([right for right, _ in counted], 0), counted[0][1]


def _concordant_pairs(run: FinishedRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # float32 as where the agreement was measured, so that equal totals stay equal.
    weights = np.array([criterion.weight for criterion in run.criteria.criteria], dtype=np.float32)
    quality = (-run.validation.errors.astype(np.float32) * weights).astype(np.float64)
    rewards, known = (np.hstack([values, values.sum(1, keepdims=True)]) for values in (run.validation.rewards, quality))
    return concordant_pairs(rewards, known, run.validation.group)


def _nan_to_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
