"""`radreward list`: the names that options and configuration files accept."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from radreward.io.terminal import print_line

if TYPE_CHECKING:
    from radreward.scorers.registry import NamedScorer

Row = Sequence[str]
"""Cells of a line; the last one has any length."""


def run() -> int:
    """List scorers with what they need here, criteria, objectives and their parts, and samplers, one line each."""
    for number, (title, rows) in enumerate(_listings()):
        if number:
            print_line("")
        print_line(title)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        for *cells, last in rows:
            aligned = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            print_line("  ".join(("", *aligned, last)))
    return 0


def _listings() -> Iterator[tuple[str, list[Row]]]:
    """Yield the title and the rows of each list."""
    from radreward.criteria import PRESETS
    from radreward.scorers import SCORERS
    from radreward.tuning.sampler_names import SAMPLERS

    yield "Scorers: --scorers, radreward.load(...)", [_scorer_row(name, entry) for name, entry in SCORERS.items()]
    yield "Criteria: --criteria", [(name, _summary(entry)) for name, entry in PRESETS.items()]
    yield from _parts_of_training()
    yield "Samplers of studies: `sampler` in a study file", list(SAMPLERS.items())


def _scorer_row(name: str, entry: NamedScorer) -> Row:
    from radreward.scorers.usability import missing_needs

    if needs := missing_needs(entry):
        return name, "not usable", f"Needs {'; '.join(needs)}. {entry.summary}"
    return name, "usable", entry.summary


def _parts_of_training() -> Iterator[tuple[str, list[Row]]]:
    from radreward import objectives

    classes = [entry for name in objectives.__all__ if inspect.isclass(entry := getattr(objectives, name))]
    for title, base in (
        ("Objectives of reward models: --model.objective", objectives.Objective),
        ("Objectives of policies: --model.objective", objectives.RolloutObjective),
        ("Weightings of criteria: --model.objective.init_args.weighting", objectives.CriterionWeighting),
        ("Reward functions: --model.objective.init_args.accuracy_reward, ….rewards", objectives.RewardFunction),
        ("Advantage estimators: --model.objective.init_args.estimator", objectives.AdvantageEstimator),
        ("Advantage scalings: --model.objective.init_args.scaling", objectives.AdvantageScaling),
        ("Token averages: --model.objective.init_args.average", objectives.TokenAverage),
    ):
        found = [entry for entry in classes if issubclass(entry, base) and not inspect.isabstract(entry)]
        yield title, [(entry.__name__, _summary(entry)) for entry in found]


def _summary(entry: object) -> str:
    return (inspect.getdoc(entry) or "").splitlines()[0]
