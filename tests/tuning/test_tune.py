"""Tests of `radreward tune` with small real trials."""

import json
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from radreward.cli import build, tune
from radreward.cli.parser import run_command
from radreward.errors import InputError
from radreward.tuning import load_study_config
from radreward.tuning.retries import last_attempts
from radreward.tuning.storage import open_storage
from radreward.tuning.study import validate_search_space
from tests.tuning.fake_training import fake_runner

ROOT = Path(__file__).resolve().parents[2]
SPACE = {
    "loss": {"variants": {"mre": {}, "bt": {"model.objective": "BradleyTerry"}}},
    "model.objective.c": {"low": 0.01, "high": 1.0, "log": True, "active_if": {"loss": "mre"}},
    "model.optimizer.lr": {"low": 1e-4, "high": 1e-1, "log": True},
}


def run(arguments: Sequence[object]) -> int:
    return run_command(["tune", *map(str, arguments)])


def write(path: Path, base: Path, **entries: Any) -> Path:
    study = {"study": "toy", "base": str(base), "trials": 3, "seed": 3, "prune": False, "space": SPACE, **entries}
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def uninterrupted(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run an uninterrupted study and return its folder."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(["--config", write(folder / "study.yaml", base), "--run-dir", folder / "run"]) == 0
    return folder / "run"


def trials(folder: Path) -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name="toy", storage=open_storage(None, folder)).trials


def test_each_trial_is_a_run_with_hparams_in_tensorboard(uninterrupted: Path) -> None:
    for trial in trials(uninterrupted):
        folder = uninterrupted / "trials" / str(trial.number)
        assert {"config.yaml", "metrics.json", "data.json", "versions.json", "trial.json"} <= {
            path.name for path in folder.iterdir()
        }
        objective = yaml.safe_load((folder / "config.yaml").read_text())["model"]["init_args"]["objective"]
        assert objective["class_path"].endswith(
            {"mre": "MarginRewardEnforcement", "bt": "BradleyTerry"}[trial.params["loss"]]
        )
        assert objective["init_args"].get("c") == trial.params.get("model.objective.c")
        events = EventAccumulator(str(folder / "logs")).Reload()
        assert not events.Tags()["images"]  # figures take longer than a short trial
        hparams = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
        assert b"model.optimizer.lr" in hparams
        content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
        infos = plugin_data_pb2.HParamsPluginData.FromString(content).experiment.hparam_infos
        searched = ["model.objective", "model.objective.c", "model.optimizer.lr"]  # c also in trials without it
        assert sorted(info.name for info in infos if info.differs) == searched
        assert sorted(info.name for info in infos[:3]) == searched
        assert "trainer.precision" not in [info.name for info in infos]  # a default
        assert trial.value == pytest.approx(max(event.value for event in events.Scalars("val/tau_total")))
        assert json.loads((folder / "trial.json").read_text())["params"] == trial.params


def test_trials_share_their_data_until_settings_or_files_change(base: Path, tmp_path: Path) -> None:
    build_trial = tune.fit_runner().build
    groups = tmp_path / "groups.jsonl"
    groups.write_bytes(Path(yaml.safe_load(base.read_text())["data"]["records"]).read_bytes())

    def datasets(*settings: str) -> Any:
        training: Any = build_trial(base, [f"run_dir={tmp_path}", f"data.records={groups}", *settings])
        return training.data.datasets

    first = datasets()
    assert datasets("model.optimizer.lr=0.1") is first
    other_split = datasets("data.val_split=0.5")
    assert len(other_split["validation"]) > len(first["validation"])
    again = datasets("data.val_split=0.5")
    assert again is other_split
    with groups.open("ab") as file:
        file.write(groups.read_bytes().splitlines()[0].replace(b'"id": "', b'"id": "new-', 1) + b"\n")
    changed = datasets("data.val_split=0.5")
    assert sum(map(len, changed.values())) == sum(map(len, again.values())) + 1


def test_best_settings_reproduce_the_best_result(uninterrupted: Path) -> None:
    best = optuna.load_study(study_name="toy", storage=open_storage(None, uninterrupted)).best_trial
    training = build(uninterrupted / "best.yaml")
    assert training.run_folder.folder == uninterrupted / "best"
    training.fit()
    assert (
        training.run_folder.metrics.read_text()
        == (uninterrupted / "trials" / str(best.number) / "metrics.json").read_text()
    )


def test_killed_and_resumed_study_equals_uninterrupted_study(
    uninterrupted: Path, base: Path, processes: ForkServerContext, tmp_path: Path
) -> None:
    config, folder = write(tmp_path / "study.yaml", base), tmp_path / "run"
    process = processes.Process(target=run, args=(["--config", config, "--run-dir", folder],))
    process.start()
    try:
        deadline = time.monotonic() + 200
        while not (folder / "trials" / "1" / "checkpoints" / "last.ckpt").is_file():
            assert process.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.kill()
        process.join()
    interrupted = trials(folder)
    assert [trial.state.name for trial in interrupted] == ["COMPLETE", "RUNNING"]
    assert run(["--config", config, "--run-dir", folder]) == 0
    study = optuna.load_study(study_name="toy", storage=open_storage(None, folder))
    actual, expected = list(last_attempts(study).values()), trials(uninterrupted)
    assert [trial.number for trial in actual] == [0, 2, 3]
    assert study.trials[1].state.name == "FAIL"
    assert sorted(path.name for path in (folder / "trials").iterdir()) == ["0", "1", "2"]
    for trial, expected_trial in zip(actual, expected, strict=True):
        assert (trial.state, trial.params, trial.value) == (
            expected_trial.state,
            expected_trial.params,
            expected_trial.value,
        )
        values = pytest.approx(expected_trial.intermediate_values, rel=0, abs=0, nan_ok=True)
        assert trial.intermediate_values == values


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"space": {"model.objective.lamda_": {"low": 0, "high": 1}}},
            "but got 'lamda_'. Did you mean lambda_?",
        ),
        ({"space": {"modul.x": {"choices": [1]}}}, "Expected a known option but got --modul.x."),
        (
            {"space": {"loss": {"variants": {"a": {}, "b": {"model.objective": "BradleyTery"}}}}},
            "Did you mean BradleyTerry",
        ),
        ({"overrides": {"trainer.max_stepz": 1}}, "Expected a known option but got --trainer.max_stepz."),
        ({"metric": "val_tua"}, "metric: 'val_tua' is never logged; logged are "),
    ],
)
def test_invalid_study_raises_one_line(base: Path, tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    config = write(tmp_path / "study.yaml", base, **entries)
    with pytest.raises(InputError) as error:
        run(["--config", config, "--run-dir", tmp_path / "run"])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_command_line_settings_apply_to_every_trial(base: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "study.yaml", base, trials=1, space={"seed_everything": {"choices": [0]}})
    storage = f"journal:{tmp_path / 'log'}"
    assert run(["--config", config, "--run-dir", tmp_path / "run", "--storage", storage, "trainer.max_steps=2"]) == 0
    assert json.loads((tmp_path / "run" / "trials" / "0" / "metrics.json").read_text())["steps"] == 2


def test_failed_trials_are_counted_in_the_last_line(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = {1}

    def value(chosen: Mapping[str, Any], step: int) -> float:
        if chosen["x"] in failing:
            raise ValueError("no value")
        return 1.0

    monkeypatch.setattr(tune, "fit_runner", lambda: fake_runner(value))
    config = write(tmp_path / "study.yaml", base, trials=None, sampler="grid", space={"x": {"choices": [0, 1]}})
    assert run(["--config", config, "--run-dir", tmp_path / "run"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "study toy: 1 of 2 trials failed. After you have removed the cause, the same command tries failed trials again."
    )
    failing.clear()
    assert run(["--config", config, "--run-dir", tmp_path / "run"]) == 0
    assert "failed." not in capsys.readouterr().err


def test_study_of_the_repository_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # the other studies are built by the tests of their systems
    validate_search_space(load_study_config(Path("experiments/ratescore/affinity-tpe.yaml")), tune.fit_runner())
