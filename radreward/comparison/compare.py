"""Runs side by side: figures over seeds, and each arm against one of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.comparison.run_groups import Arm, arms_by, arms_of
from radreward.comparison.runs import VALIDATION, Run
from radreward.errors import InputError
from radreward.statistics.paired_tests import differences, holm, ordered_pairs

MEASURES = ("tau_b", "spearman", "pair_accuracy", "count_mae")
"""What `fit` measured of every run: see `radreward.modules.agreement_metrics`."""


class Spread(NamedTuple):
    """A figure over the runs of an arm.

    Attributes:
        mean: None where it is not defined in every run.
        sd: Standard deviation over the runs (divided by n - 1); None for one run.
    """

    mean: float | None
    sd: float | None


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
    holm: float | None


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

    arms: tuple[Arm, ...]
    baseline: int
    figures: Mapping[str, tuple[Mapping[str, Spread], ...]]
    differences: Mapping[str, tuple[Difference | None, ...]]
    candidates: int
    references: int


def compare(runs: Sequence[Run], by: str | None = None, baseline: str | None = None, seed: int = 0) -> Comparison:
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
        check_same(runs[0], run)
    arms = tuple(arms_of(runs) if by is None else arms_by(runs, by))
    names = [arm.name for arm in arms]
    if baseline is not None and baseline not in names:
        raise InputError(f"--baseline {baseline}: Expected one of: {'; '.join(names)}.")
    base = 0 if baseline is None else names.index(baseline)
    tags = (*runs[0].criteria.tags, "total")
    validated = runs[0].validated
    return Comparison(
        arms,
        base,
        {tag: tuple(_figures(arm, tag) for arm in arms) for tag in tags},
        _differences(arms, base, tags, seed),
        len(validated.group),
        len(np.unique(validated.group)),
    )


def check_same(one: Run, other: Run) -> None:
    """Whether two runs can be compared.

    Raises:
        InputError: If they have other criteria or were validated on other candidates; names both files and what
            differs.
    """
    files = [run.model for run in (one, other)]
    ours, theirs = one.criteria, other.criteria
    if ours.tags != theirs.tags:
        raise _different(
            files,
            "criteria",
            f"{ours.name} with {', '.join(ours.tags)}",
            f"{theirs.name} with {', '.join(theirs.tags)}",
        )
    for mine, yours in zip(ours.criteria, theirs.criteria, strict=True):
        if mine.weight != yours.weight:
            raise _different(files, "criteria", f"{mine.tag} weighs {mine.weight:g}", f"{yours.weight:g}")
    files = [run.folder / VALIDATION for run in (one, other)]
    a, b = one.validated, other.validated
    if len(a.group) != len(b.group):
        raise _different(files, "validation data", f"{len(a.group)} candidates", f"{len(b.group)}")
    apart = (a.group != b.group) | (a.candidate != b.candidate)
    if apart.any():
        at = int(apart.argmax())
        raise _different(
            files,
            "validation data",
            f"candidate {a.candidate[at]} of reference {str(a.group[at])!r}",
            f"candidate {b.candidate[at]} of reference {str(b.group[at])!r}",
        )
    wrong = ~np.isclose(a.errors, b.errors)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        where = f"candidate {a.candidate[row]} of reference {str(a.group[row])!r}"
        raise _different(
            files,
            "validation data",
            f"{a.errors[row, column]:g} {ours.tags[column]} in {where}",
            f"{b.errors[row, column]:g}",
        )


def _different(files: Sequence[Path], what: str, one: str, other: str) -> InputError:
    return InputError(f"{files[0]} and {files[1]}: Expected the same {what} but got {one} against {other}.")


def _figures(arm: Arm, tag: str) -> dict[str, Spread]:
    return {name: spread([run.agreement[tag].get(name) for run in arm.runs]) for name in MEASURES}


def spread(values: Sequence[float | None]) -> Spread:
    """Mean and standard deviation.

    >>> spread([0.5, 0.75])
    Spread(mean=0.625, sd=0.1767766952966369)
    >>> spread([0.5, None])
    Spread(mean=None, sd=None)
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Spread(None, None)
    return Spread(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)


def _differences(
    arms: Sequence[Arm], base: int, tags: Sequence[str], seed: int
) -> dict[str, tuple[Difference | None, ...]]:
    right, pairs = zip(*(_ordered(arm) for arm in arms), strict=True)
    others = [place for place in range(len(arms)) if place != base]
    found: dict[int, list[Difference]] = {}
    if others:  # all at once, so that references are drawn once
        paired = differences(
            np.hstack([right[at] for at in others]),
            np.hstack([right[base]] * len(others)),
            np.hstack([pairs[base]] * len(others)),
            seed,
        )
        columns = [
            Difference(_defined(mean), _defined(low), _defined(high), _defined(p), None)
            for mean, low, high, p in zip(*paired, strict=True)
        ]
        found = {at: columns[rank * len(tags) : (rank + 1) * len(tags)] for rank, at in enumerate(others)}
    for family in ([len(tags) - 1], range(len(tags) - 1)):
        tests = [(place, column) for place in others for column in family]
        p = [found[place][column].p for place, column in tests]
        corrected = holm([np.nan if value is None else value for value in p])
        for (place, column), value in zip(tests, corrected, strict=True):
            found[place][column] = found[place][column]._replace(holm=_defined(value))
    return {
        tag: tuple(found[place][column] if place in found else None for place in range(len(arms)))
        for column, tag in enumerate(tags)
    }


def _ordered(arm: Arm) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pairs of each reference ordered right, mean over the runs, and all its pairs: (G, N + 1), the total last."""
    counted = [_counted(run) for run in arm.runs]
    return np.mean([right for right, _ in counted], 0), counted[0][1]


def _counted(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # float32 as where the agreement was measured, so that equal totals stay equal.
    weights = np.array([criterion.weight for criterion in run.criteria.criteria], dtype=np.float32)
    quality = (-run.validated.errors.astype(np.float32) * weights).astype(np.float64)
    rewards, known = (np.hstack([values, values.sum(1, keepdims=True)]) for values in (run.validated.rewards, quality))
    return ordered_pairs(rewards, known, run.validated.group)


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
