"""TPE against random search: a study at equal budget over several seeds, best value and mean of the best so far.

Interrupted, it goes on where it was: its studies are kept in runs/tpe-against-random.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import yaml
from optuna.study import Study

from radreward.cli.tune import fit_runner
from radreward.criteria import load_criteria
from radreward.synthesis import synthesize_files
from radreward.tuning import TrialRunner, load_study_config, run_study

STUDY = Path("experiments/studies/margin.yaml")
FOLDER = Path("runs/tpe-against-random")
SAMPLERS = ("tpe", "random")


class Course(NamedTuple):
    """What a study reached, and how soon: the mean over trials of the best value up to each."""

    best: float
    mean_best: float
    minutes: float
    pruned: int


def course(study: Study) -> Course:
    """Of all trials in their order; one that failed or was pruned adds no value."""
    best, so_far, seconds = float("-inf"), [], 0.0
    for trial in study.trials:
        if trial.state.name == "COMPLETE" and trial.value is not None:
            best = max(best, trial.value)
        so_far.append(best)
        seconds += trial.duration.total_seconds() if trial.duration else 0.0
    # Until there is a value, the first one stands for it.
    first = next(value for value in so_far if value > float("-inf"))
    return Course(
        best,
        fmean(max(value, first) for value in so_far),
        seconds / 60,
        sum(trial.state.name == "PRUNED" for trial in study.trials),
    )


def run(study: Path, folder: Path, seeds: Sequence[int], runner: TrialRunner) -> dict[str, list[Course]]:
    """The study by each sampler with each seed, one after the other."""
    found: dict[str, list[Course]] = {sampler: [] for sampler in SAMPLERS}
    for seed in seeds:
        for sampler in SAMPLERS:
            name = f"{sampler}-{seed}"
            own = folder / name / "study.yaml"
            own.parent.mkdir(parents=True, exist_ok=True)
            given = yaml.safe_load(study.read_text(encoding="utf-8"))
            own.write_text(
                yaml.safe_dump({**given, "study": name, "sampler": sampler, "seed": seed}, sort_keys=False),
                encoding="utf-8",
            )
            result = course(run_study(load_study_config(own), runner, own.parent))
            found[sampler].append(result)
            print(
                f"{name}: best {result.best:.4f}, mean of the best so far {result.mean_best:.4f}, "
                f"{result.minutes:.1f} min, {result.pruned} pruned",
                flush=True,
            )
    return found


def main(
    study: Path = STUDY, folder: Path = FOLDER, seeds: Sequence[int] = (0, 1, 2), runner: TrialRunner | None = None
) -> None:
    """Run what is missing and print how the two compare; TPE not below random search is the target."""
    data = Path("runs/statements-300")
    if runner is None and not (data / "groups.parquet").is_file():
        synthesize_files(data, load_criteria("radcliq-significance"), 300, 8, 0, None, None, "statement")
    found = run(study, folder, seeds, runner or fit_runner())
    means = {sampler: fmean(entry.best for entry in courses) for sampler, courses in found.items()}
    for sampler, courses in found.items():
        sooner = fmean(entry.mean_best for entry in courses)
        print(f"{sampler:<7} best {means[sampler]:.4f}, mean of the best so far {sooner:.4f}, {len(courses)} seeds")
    print(f"target TPE not below random search: {'met' if means['tpe'] >= means['random'] else 'MISSED'}")
    print(json.dumps({sampler: [entry._asdict() for entry in courses] for sampler, courses in found.items()}))


if __name__ == "__main__":
    main()
