"""TPE against random search: studies of equal budget over several seeds, best value and mean of the best so far.

The studies are stored in runs/tpe-against-random; an interrupted run resumes there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import yaml
from optuna.study import Study

from benchmarks._figures import Figure
from radreward.cli.tune import fit_runner
from radreward.criteria import load_criteria
from radreward.synthesis import synthesize_files
from radreward.tuning import TrialRunner, load_study_config, run_study

STUDY = Path("experiments/studies/margin.yaml")
FOLDER = Path("runs/tpe-against-random")
SAMPLERS = ("tpe", "random")


class StudyResult(NamedTuple):
    """Result of a study."""

    best: float
    mean_best: float
    """Mean over trials of the best value so far."""
    minutes: float
    pruned: int


def study_result(study: Study) -> StudyResult:
    """Return the result of a study; failed and pruned trials have no value."""
    best, so_far, seconds = float("-inf"), [], 0.0
    for trial in study.trials:
        if trial.state.name == "COMPLETE" and trial.value is not None:
            best = max(best, trial.value)
        so_far.append(best)
        seconds += trial.duration.total_seconds() if trial.duration else 0.0
    # The first value replaces those before it.
    first = next(value for value in so_far if value > float("-inf"))
    return StudyResult(
        best,
        fmean(max(value, first) for value in so_far),
        seconds / 60,
        sum(trial.state.name == "PRUNED" for trial in study.trials),
    )


def run(study: Path, folder: Path, seeds: Sequence[int], runner: TrialRunner) -> dict[str, list[StudyResult]]:
    """Run the study with each sampler and seed."""
    results: dict[str, list[StudyResult]] = {sampler: [] for sampler in SAMPLERS}
    for seed in seeds:
        for sampler in SAMPLERS:
            name = f"{sampler}-{seed}"
            path = folder / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            config = yaml.safe_load(study.read_text(encoding="utf-8"))
            path.write_text(
                yaml.safe_dump({**config, "study": name, "sampler": sampler, "seed": seed}, sort_keys=False),
                encoding="utf-8",
            )
            result = study_result(run_study(load_study_config(path), runner, folder / name))
            results[sampler].append(result)
            print(
                f"{name}: best {result.best:.4f}, mean of the best so far {result.mean_best:.4f}, "
                f"{result.minutes:.1f} min, {result.pruned} pruned",
                flush=True,
            )
    return results


def main(
    study: Path = STUDY, folder: Path = FOLDER, seeds: Sequence[int] = (0, 1, 2), runner: TrialRunner | None = None
) -> list[Figure]:
    """Run missing studies and print the comparison; the goal is TPE not below random search."""
    data = Path("runs/statements-300")
    if runner is None and not (data / "groups.parquet").is_file():
        synthesize_files(data, load_criteria("radcliq-significance"), 300, 8, granularity="statement")
    results = run(study, folder, seeds, runner or fit_runner())
    means = {sampler: fmean(entry.best for entry in runs) for sampler, runs in results.items()}
    for sampler, runs in results.items():
        mean_best = fmean(entry.mean_best for entry in runs)
        print(f"{sampler:<7} best {means[sampler]:.4f}, mean of the best so far {mean_best:.4f}, {len(runs)} seeds")
    print(json.dumps({sampler: [entry._asdict() for entry in runs] for sampler, runs in results.items()}))
    return [Figure("best value of TPE less random search", means["tpe"] - means["random"], "", at_least=0)]
