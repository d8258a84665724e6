"""Tests of the result files of studies, with fake trials."""

import csv
import json
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from optuna.trial import create_trial
from rich.console import Console

from radreward.errors import InputError
from radreward.tuning import StudyConfig, best_model_location, run_study, trial_tables, write_study_results
from tests.tuning.fake_training import fake_runner, parabola

MakeConfig = Callable[..., StudyConfig]


@pytest.fixture
def space() -> dict[str, Any]:
    return {
        "kind": {"choices": ["a", "b"]},
        "x": {"low": 0.0, "high": 10.0},
        "y": {"low": 1, "high": 3},
        "only_a": {"low": 0.0, "high": 1.0, "active_if": {"kind": "a"}},
    }


def value(chosen: Mapping[str, Any], step: int) -> float:
    if chosen["x"] > 8:
        raise ValueError("too far")
    return parabola(chosen, step)


def test_write_study_results_writes_all_files(make_config: MakeConfig, tmp_path: Path, space: dict[str, Any]) -> None:
    config, runner, folder = make_config(trials=12, space=space, seed=2), fake_runner(value), tmp_path / "run"
    study = run_study(config, runner, folder, f"journal:{tmp_path / 'log'}")
    written = write_study_results(study, config, runner, folder)

    rows = list(csv.DictReader(written.trials.read_text().splitlines()))
    assert [int(row["trial"]) for row in rows] == list(range(12))
    for row, trial in zip(rows, study.trials, strict=True):
        assert row["state"] == {"COMPLETE": "complete", "FAIL": "failed"}[trial.state.name]
        assert (float(row["val_tau"]) if row["val_tau"] else None) == trial.value
        assert row["reason"] == ("" if trial.value is not None else "ValueError: too far")
        assert (row["only_a"] == "") == (trial.params["kind"] == "b")
    assert {row["state"] for row in rows} == {"complete", "failed"}

    best = yaml.safe_load(written.best.read_text())
    assert float(best["x"]) == study.best_params["x"]
    assert best["run_dir"] == str(folder / "best")
    assert f"trial {study.best_trial.number}, val_tau" in written.best.read_text().splitlines()[0]

    shares = json.loads(written.importances.read_text())
    assert set(shares) == {"kind", "x", "y", "only_a"}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)

    console = Console(width=200, record=True)
    console.print(*trial_tables(study, config))
    lines = [line for line in console.export_text().splitlines() if "complete" in line or "failed" in line]
    assert f"{study.best_value:.4f}" in lines[0]
    assert "ValueError: too far" in lines[-1]
    order = [float(line.split()[1]) for line in lines if "complete" in line]
    assert order == sorted(order, reverse=True)


def test_single_trial_has_no_importances(make_config: MakeConfig, tmp_path: Path) -> None:
    config, runner = make_config(trials=1), fake_runner(parabola)
    study = run_study(config, runner, tmp_path / "run", f"journal:{tmp_path / 'log'}")
    written = write_study_results(study, config, runner, tmp_path / "run")
    assert json.loads(written.importances.read_text()) == {}


def test_study_of_failed_trials_raises_with_the_first_reason(make_config: MakeConfig, tmp_path: Path) -> None:
    def broken(chosen: Mapping[str, Any], step: int) -> float:
        raise ValueError(f"no {step}")

    config = make_config(trials=2)
    study = run_study(config, fake_runner(broken), tmp_path / "run", f"journal:{tmp_path / 'log'}")
    with pytest.raises(
        InputError, match="study toy: none of 2 trials is complete; the first failed: ValueError: no 10. After you"
    ):
        write_study_results(study, config, fake_runner(broken), tmp_path / "run")
    assert (tmp_path / "run" / "trials.csv").read_text().count("ValueError: no 10") == 2


def test_best_model_location_names_another_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = optuna.create_study(direction="maximize")
    attrs = {"folder": str(tmp_path / "b" / "trials" / "0"), "host": platform.node()}
    study.add_trial(create_trial(value=1.0, user_attrs=attrs))
    monkeypatch.chdir(tmp_path)
    assert best_model_location(study) == "b/trials/0/model"
    monkeypatch.chdir("/")
    assert best_model_location(study) == str(tmp_path / "b/trials/0/model").lstrip("/")
    study.add_trial(create_trial(value=2.0, user_attrs={**attrs, "host": "other"}))
    assert best_model_location(study) == f"{tmp_path}/b/trials/0/model of other"


def test_many_parameters_shorten_lines_and_tables_but_not_files(
    make_config: MakeConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"x": {"low": 0.0, "high": 10.0}} | {f"y{number}": {"low": 0.0, "high": 1.0} for number in range(12)}
    config, runner = make_config(trials=2, space=space), fake_runner(parabola)
    study = run_study(config, runner, tmp_path / "run", f"journal:{tmp_path / 'log'}")
    assert "y6 " in capsys.readouterr().err
    console = Console(width=80, record=True)
    console.print(*trial_tables(study, config))
    trials, parameters = console.export_text().split("Parameters of the best 2 trials")
    assert "y6" not in trials
    rows = [line.split() for line in parameters.splitlines() if line.startswith("y")]
    assert [row[0] for row in rows] == [f"y{number}" for number in range(12)]
    best = sorted(study.trials, key=lambda trial: -(trial.value or 0))
    assert rows[7][1:] == [f"{trial.params['y7']:.4g}" for trial in best]
    written = write_study_results(study, config, runner, tmp_path / "run")
    assert "y11" in written.trials.read_text()
