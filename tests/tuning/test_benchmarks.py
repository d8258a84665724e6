"""Tests of study benchmarks, with fake trials."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from tests.tuning.fake_training import fake_runner, parabola


def test_study_result_counts_pruned_and_failed_trials() -> None:
    benchmark = import_module("benchmarks.tpe_against_random")
    study = optuna.create_study(direction="maximize")
    for value in (None, 1.0, 0.5, None, 3.0):
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        study.add_trial(create_trial(state=state, value=value))
    result = benchmark.study_result(study)
    assert result.best == 3
    assert result.mean_best == pytest.approx((1 + 1 + 1 + 1 + 3) / 5)
    assert result.pruned == 0


def test_tpe_against_random_resumes(
    study_file: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = import_module("benchmarks.tpe_against_random")
    path = study_file(trials=8)
    for _ in range(2):
        benchmark.main(path, tmp_path / "out", [0], fake_runner(parabola))
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("{"))
    assert first == second
    assert {name: len(curves) for name, curves in json.loads(first).items()} == {"tpe": 1, "random": 1}
