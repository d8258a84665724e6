"""Seconds of a study's trial without training, one thread; the goal is 1 s of processor time.

Training is `Trainer.fit` and the export of the trained model. Overhead is the rest: settings and modules, data, run
folder, storage, release of memory.
"""

from __future__ import annotations

import copy
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from benchmarks._figures import Figure
from radreward.cli.tune import fit_runner
from radreward.criteria import load_criteria
from radreward.synthesis import synthesize_files
from radreward.tuning import TrialRunner, load_study_config, run_study

STUDY = Path("experiments/studies/margin.yaml")
GROUPS, TRIALS, SECONDS = 300, 6, 1.0
TRAINING = ("training", "export")


class Clock:
    """Wall and CPU seconds of named parts."""

    def __init__(self) -> None:
        self.parts: dict[str, list[float]] = {}

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that adds its seconds to a part."""
        part = self.parts.setdefault(name, [0.0, 0.0])

        def run(*arguments: Any, **options: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return work(*arguments, **options)
            finally:
                part[0] += time.perf_counter() - wall
                part[1] += time.process_time() - cpu

        return run


def observed(runner: TrialRunner, clock: Clock) -> TrialRunner:
    """Return a runner that times the parts of its trials."""
    build = clock.timed("settings and modules", runner.build)

    def observe(base: Path, settings: Sequence[str]) -> Any:
        training: Any = build(base, settings)
        training.data.setup = clock.timed("data", training.data.setup)
        training.trainer.fit = clock.timed("training", training.trainer.fit)
        training.module.exporter = copy.copy(training.module.exporter)  # all modules of a class share theirs
        training.module.exporter.export = clock.timed("export", training.module.exporter.export)
        return training

    return TrialRunner(observe, runner.dump_config)


def main(trials: int = TRIALS, groups: int = GROUPS, extra: Sequence[str] = ()) -> list[Figure]:
    """Run a study of short trials on synthetic data and print the seconds of each part.

    Args:
        trials: Number of timed trials, after one that is not timed.
        groups: Groups of training data.
        extra: Overrides of every trial.

    Raises:
        RuntimeError: If a trial fails, because its time shows nothing.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = synthesize_files(
            folder / "data", load_criteria("radcliq-significance"), groups, 8, granularity="statement"
        )
        short = [f"data.records={data}", "data.batch_size=1", "trainer.max_steps=2", "trainer.val_check_interval=2"]
        short.append("trainer.limit_val_batches=1")
        settings = {**yaml.safe_load(STUDY.read_text(encoding="utf-8")), "prune": False}
        (folder / "study.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

        def study(total: int, runner: TrialRunner) -> None:
            config = load_study_config(folder / "study.yaml", None, total, [*short, *extra])
            states = Counter(trial.state.name for trial in run_study(config, runner, folder / "run").trials)
            if states != {"COMPLETE": total}:
                raise RuntimeError(f"Expected {total} complete trials but got {dict(states)}.")

        study(1, fit_runner())
        clock = Clock()
        clock.timed("all", study)(trials + 1, observed(fit_runner(), clock))
    seconds_per_trial = {name: [seconds / trials for seconds in part] for name, part in clock.parts.items()}
    total = seconds_per_trial.pop("all")
    seconds_per_trial["study, folder of the run, checks"] = [
        total[kind] - sum(part[kind] for part in seconds_per_trial.values()) for kind in (0, 1)
    ]
    overhead = [sum(part[kind] for name, part in seconds_per_trial.items() if name not in TRAINING) for kind in (0, 1)]
    for name, (wall, cpu) in seconds_per_trial.items():
        print(f"{name:<34} {wall:6.2f} s, CPU {cpu:6.2f} s")
    print(json.dumps({"overhead_s": overhead[0], "overhead_cpu_s": overhead[1], "parts": seconds_per_trial}))
    return [
        Figure("a trial without training, processor time", overhead[1], "s", at_most=SECONDS),
        Figure("a trial without training, wall time", overhead[0], "s"),
    ]
