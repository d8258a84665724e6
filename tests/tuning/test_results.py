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
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial
from rich.console import Console

from radreward.errors import InputError
from radreward.tuning import StudyConfig, best_model_location, run_study, trial_tables, write_study_results
from radreward.tuning.seed_means import rank_settings
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
    config, runner, folder = make_config(trials=60, space=space, seed=2), fake_runner(value), tmp_path / "run"
    study = run_study(config, runner, folder, f"journal:{tmp_path / 'log'}")
    written = write_study_results(study, config, runner, folder)

    rows = list(csv.DictReader(written.trials.read_text().splitlines()))
    assert [int(row["trial"]) for row in rows] == list(range(60))
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

    shares = json.loads(Path(written.importances).read_text())
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


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"trials": 8}, "none from 8 complete trials; 30 are needed"),
        ({"sampler": "grid", "trials": None}, "none of a grid; see radreward compare "),
    ],
)
def test_importances_that_would_be_arbitrary_have_a_reason(
    make_config: MakeConfig, tmp_path: Path, entries: dict[str, Any], reason: str
) -> None:
    space = {name: {"choices": list(range(4))} for name in ("x", "y", "z")}
    config, runner, folder = make_config(**entries, space=space), fake_runner(parabola), tmp_path / "run"
    study = run_study(config, runner, folder, f"journal:{tmp_path / 'log'}")
    (folder / "importances.json").write_text("{}")
    written = write_study_results(study, config, runner, folder)
    assert str(written.importances).startswith(reason)
    assert not (folder / "importances.json").exists()


SEED_NOISE = {("1", "0"): 3.0, ("1", "1"): 0.0, ("1", "2"): 0.0, ("3", "0"): 2.0, ("3", "1"): 2.0, ("3", "2"): 1.5}


def noisy(chosen: Mapping[str, Any], step: int) -> float:
    return SEED_NOISE[str(chosen["x"]), chosen["seed_everything"]]


def test_searched_seed_ranks_settings_by_their_mean(
    make_config: MakeConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"seed_everything": {"choices": [0, 1, 2]}, "x": {"choices": [1, 3]}}
    config = make_config(sampler="grid", trials=None, space=space)
    runner, folder = fake_runner(noisy), tmp_path / "run"
    study = run_study(config, runner, folder, f"journal:{tmp_path / 'log'}")
    assert study.best_params["x"] == 1  # a single lucky seed
    written = write_study_results(study, config, runner, folder)
    best = yaml.safe_load(written.best.read_text())
    assert (best["x"], best["seed_everything"]) == ("3", "0")
    assert written.best.read_text().splitlines()[0] == (
        "# Best of 6 complete trials of the study toy: val_tau 1.83333, mean of 3 seeds; the seed is of their best "
        "trial: trial 1, val_tau 2."
    )
    assert best_model_location(study).endswith("trials/1/model")
    assert "best 1.8333 (mean of 3 seeds; trial 1); done" in capsys.readouterr().err
    first, _ = trial_tables(study, config)
    assert first.title == "Study toy: settings by their mean val_tau over seeds"
    assert first.frame.to_numpy().tolist() == [["3", "1.833", "0.2887", "3", "1"], ["1", "1", "1.732", "3", "0"]]


def test_pruned_seed_counts_with_its_last_value() -> None:
    study = optuna.create_study(direction="maximize")
    choices: dict[str, BaseDistribution] = {
        "seed_everything": CategoricalDistribution([0, 1]),
        "x": CategoricalDistribution([1, 2]),
    }
    for x, seed, value, state in [
        (1, 0, 0.9, TrialState.COMPLETE),
        (1, 1, 0.1, TrialState.PRUNED),
        (2, 0, 0.6, TrialState.COMPLETE),
        (2, 1, 0.6, TrialState.COMPLETE),
    ]:
        params = {"seed_everything": seed, "x": x}
        study.add_trial(create_trial(state=state, value=value, params=params, distributions=choices))
    assert [(entry.best_trial.params["x"], entry.value) for entry in rank_settings(study)] == [(2, 0.6), (1, 0.5)]


def test_importances_leave_the_seed_out(make_config: MakeConfig, tmp_path: Path) -> None:
    space = {"seed_everything": {"choices": [0, 1]}, "x": {"low": 0.0, "high": 9.0}, "y": {"low": 0.0, "high": 1.0}}
    config, runner = make_config(trials=30, space=space), fake_runner(parabola)
    study = run_study(config, runner, tmp_path / "run", f"journal:{tmp_path / 'log'}")
    written = write_study_results(study, config, runner, tmp_path / "run")
    shares = json.loads(Path(written.importances).read_text())
    assert list(shares) == ["x", "y"]
    assert sum(shares.values()) == pytest.approx(1, abs=1e-5)


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
