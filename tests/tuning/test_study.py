"""The loop of a study, with trials that take no time."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState

from radreward.errors import InputError
from radreward.tuning import StudyConfig, StudyError, TrialRunner, run_study
from radreward.tuning import heartbeat as workers
from radreward.tuning.storage import open_storage
from radreward.tuning.study import open_study
from tests.tuning.fake_training import parabola, pretend

Read = Callable[..., StudyConfig]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def states(study: Study) -> list[str]:
    return [trial.state.name for trial in study.trials]


def test_trials_are_run_until_there_are_as_many_as_asked_for(
    settings: Read, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = pretend(parabola)
    study = run_study(settings(), runner, folder)
    assert [trial.number for trial in study.trials] == list(range(6))
    assert set(states(study)) == {"COMPLETE"}
    for trial in study.trials:
        assert trial.value == pytest.approx(-((trial.params["x"] - 3) ** 2) - 1 / 30)
        assert set(trial.intermediate_values) == {10, 20, 30}
        written = json.loads((folder / "trials" / str(trial.number) / "trial.json").read_text())
        assert written["params"] == trial.params
        assert (written["number"], written["state"], written["value"]) == (trial.number, "complete", trial.value)
    told = capsys.readouterr().err
    assert f"study toy: 6 trials, kept in {folder}" in told
    assert "trial 5 of 6: x " in told
    assert "0 left" in told

    again = run_study(settings(), runner, folder)
    assert [trial.value for trial in again.trials] == [trial.value for trial in study.trials]
    assert len(run_study(settings(trials=8), runner, folder).trials) == 8


def test_the_least_is_best_where_it_is_minimised(settings: Read, folder: Path) -> None:
    study = run_study(settings(direction="minimize"), pretend(lambda chosen, step: chosen["x"] + step), folder)
    assert [trial.value for trial in study.trials] == [pytest.approx(trial.params["x"] + 10) for trial in study.trials]
    assert study.best_value == min(trial.value for trial in study.trials if trial.value is not None)


def test_a_trial_that_fails_is_recorded_and_the_study_goes_on(settings: Read, folder: Path) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        if chosen["x"] == 1:
            raise ValueError("a bad\nnumber")
        if chosen["x"] == 2:
            raise InputError("groups.jsonl: gone.")
        return float("nan") if chosen["x"] == 3 else 1.0

    space = {"x": {"choices": [1, 2, 3, 4]}}
    study = run_study(settings(sampler="grid", trials=None, space=space), pretend(value), folder)
    assert states(study) == ["FAIL", "FAIL", "FAIL", "COMPLETE"]
    reasons = ["ValueError: a bad number", "groups.jsonl: gone.", "val_tau is not finite at any validation"]
    assert [trial.user_attrs["reason"] for trial in study.trials[:3]] == reasons
    assert json.loads((folder / "trials" / "0" / "trial.json").read_text())["reason"] == reasons[0]
    assert "Traceback" in (folder / "trials" / "0" / "error.txt").read_text()


def test_a_metric_that_is_never_logged_ends_the_study(settings: Read, folder: Path) -> None:
    with pytest.raises(StudyError, match="metric: 'val_tua' is never logged; logged are val_tau"):
        run_study(settings(metric="val_tua"), pretend(parabola), folder)
    study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
    assert states(study) == ["FAIL"]
    assert "never logged" in study.trials[0].user_attrs["reason"]
    with pytest.raises(InputError, match="with another metric. Change its name, or replace it with --overwrite"):
        run_study(settings(), pretend(parabola), folder)
    assert states(run_study(settings(), pretend(parabola), folder, overwrite=True)) == ["COMPLETE"] * 6


def test_no_validation_at_all(settings: Read, folder: Path) -> None:
    found = pretend(parabola)

    def build(base: Path, chosen: Any) -> Any:
        training: Any = found.build(base, chosen)
        training.fit = lambda: None
        return training

    with pytest.raises(StudyError, match="never logged, because there was no validation"):
        run_study(settings(), TrialRunner(build, found.dump_config), folder)


def test_a_trial_is_one_process(settings: Read, folder: Path) -> None:
    found = pretend(parabola)

    def build(base: Path, chosen: Any) -> Any:
        training: Any = found.build(base, chosen)
        training.trainer.world_size = 2
        return training

    with pytest.raises(StudyError, match="trainer: Expected one process for a trial"):
        run_study(settings(), TrialRunner(build, found.dump_config), folder)


def test_trials_below_the_median_end_early_but_never_at_the_last_step(settings: Read, folder: Path) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        early = -1.0 if chosen["x"] == 6 else 1.0
        return -1.0 if chosen["x"] == 7 and step == 30 else early

    space = {"x": {"low": 0, "high": 7}}
    study = run_study(settings(sampler="grid", trials=None, prune=True, space=space), pretend(value), folder)
    assert states(study) == ["COMPLETE"] * 6 + ["PRUNED", "COMPLETE"]
    assert set(study.trials[6].intermediate_values) == {10}
    assert study.trials[6].user_attrs["reason"] == "worse than the median at step 10"
    assert study.trials[7].intermediate_values[30] == -1


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"space": {"x": {"low": 0.0, "high": 11.0}}}, "space"),
        ({"seed": 1, "sampler": "random"}, "sampler and seed"),
        ({"overrides": {"trainer.max_steps": 3}}, "overrides"),
    ],
)
def test_another_study_of_the_same_name_is_not_joined(
    settings: Read, folder: Path, entries: dict[str, Any], named: str
) -> None:
    run_study(settings(), pretend(parabola), folder)
    with pytest.raises(InputError, match=f"study toy: the storage holds one of this name with another {named}"):
        run_study(settings(**entries), pretend(parabola), folder)


def test_another_base_is_another_study_and_the_same_elsewhere_is_not(
    settings: Read, folder: Path, tmp_path: Path
) -> None:
    run_study(settings(), pretend(parabola), folder)
    (tmp_path / "moved.yaml").write_text("run:   here  # the same\n")
    run_study(settings(base=str(tmp_path / "moved.yaml")), pretend(parabola), folder)
    (tmp_path / "moved.yaml").write_text("run: elsewhere\n")
    with pytest.raises(InputError, match="another base"):
        run_study(settings(base=str(tmp_path / "moved.yaml")), pretend(parabola), folder)


def test_what_others_left_is_not_touched(settings: Read, folder: Path) -> None:
    storage = open_storage(None, folder.parent)
    optuna.create_study(storage=storage, study_name="toy").ask()
    with pytest.raises(InputError, match="of another making"):
        run_study(settings(), pretend(parabola), folder, f"sqlite:///{folder.parent / 'study.db'}")
    (folder / "trials" / "0").mkdir(parents=True)
    with pytest.raises(InputError, match="holds trials of another study"):
        run_study(settings(), pretend(parabola), folder)
    assert (folder / "trials" / "0").is_dir()


def test_a_base_that_does_not_take_a_sample_is_told_before_the_first_trial(settings: Read, folder: Path) -> None:
    def refuse(base: Path, chosen: Any) -> str:
        if "x=b" in chosen:
            raise InputError("x: Expected a but got b.")
        return ""

    with pytest.raises(InputError, match=r"study toy: .*base.yaml with x=b: x: Expected a but got b."):
        run_study(settings(space={"x": {"choices": ["a", "b"]}}), TrialRunner(pretend(parabola).build, refuse), folder)
    assert not folder.exists()


def test_what_was_stopped_is_continued_under_its_number(
    settings: Read, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = iter([False, False, True])

    def value(chosen: Mapping[str, Any], step: int) -> float:
        if step == 20 and next(stopped, False):
            raise KeyboardInterrupt
        return parabola(chosen, step)

    with pytest.raises(KeyboardInterrupt, match="The same command continues the study"):
        run_study(settings(), pretend(value), folder)
    study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
    assert states(study) == ["COMPLETE", "COMPLETE", "RUNNING"]
    left = study.trials[2].params
    study = run_study(settings(), pretend(parabola), folder)
    assert states(study) == ["COMPLETE"] * 6
    assert study.trials[2].params == left
    assert "trial 2 of 6, which another worker left behind" in capsys.readouterr().err
    whole = run_study(settings(), pretend(parabola), folder.with_name("whole"))
    assert [(trial.params, trial.value) for trial in study.trials] == [
        (trial.params, trial.value) for trial in whole.trials
    ]


def test_the_result_of_a_trial_that_another_worker_took_over_does_not_count_twice(
    settings: Read, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        if step == 30:
            study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
            found = study.trials[-1]
            study._storage.set_trial_user_attr(
                found._trial_id, workers.HEARTBEAT_ATTR, {"host": "other", "pid": 1, "beat": 0}
            )
            study.tell(found.number, 5.0)
        return parabola(chosen, step)

    study = run_study(settings(trials=1), pretend(value), folder)
    assert [trial.value for trial in study.trials] == [5.0]
    assert "another worker took it over" in capsys.readouterr().err


@pytest.mark.parametrize("storage", ["sqlite:///{}/study.db", "journal:{}/log"])
def test_workers_share_a_study_without_a_trial_too_many(
    study_file: Any, settings: Read, tmp_path: Path, storage: str
) -> None:
    url, script = (
        storage.format(tmp_path),
        (
            "import sys, time; from pathlib import Path;"
            "from radreward.tuning import read_settings, run_study; from radreward.tuning import heartbeat as workers;"
            "from tests.tuning.fake_training import parabola, pretend; workers.BEAT = 0.2;"
            "slow = lambda chosen, step: time.sleep(0.03) or parabola(chosen, step);"
            "run_study(read_settings(Path(sys.argv[1])), pretend(slow), Path(sys.argv[2]), sys.argv[3])"
        ),
    )
    path = study_file(trials=15)
    arguments = [sys.executable, "-c", script, str(path), str(tmp_path / "run"), url]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], told
    study = open_study(settings(trials=15), open_storage(url, tmp_path), tmp_path / "run")
    assert [trial.number for trial in study.trials] == list(range(15))
    assert set(states(study)) == {"COMPLETE"}
    assert len({trial.params["x"] for trial in study.trials}) == 15
    pids = {trial.user_attrs[workers.HEARTBEAT_ATTR]["pid"] for trial in study.trials}
    assert pids <= {process.pid for process in started}
    ran = [line.split()[1] for text in told for line in text.splitlines() if " of 15: " in line]
    assert sorted(map(int, ran)) == list(range(15))  # each once


def test_a_storage_that_goes_away_is_told(settings: Read, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise optuna.exceptions.StorageInternalError("no route to host")

    monkeypatch.setattr("radreward.tuning.study.claim_trial", gone)
    with pytest.raises(InputError, match="study.db: does not answer any more .no route to host."):
        run_study(settings(), pretend(parabola), folder)


def test_state_names_are_all_of_them() -> None:
    from radreward.tuning.trial import STATE_NAMES

    assert set(STATE_NAMES) == set(TrialState)
