"""Tests of studies with fake trials."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from radreward.errors import InputError
from radreward.io.outputs import LOCK_NAME
from radreward.tuning import StudyConfig, StudyError, TrialRunner, load_study_config, run_study
from radreward.tuning.retries import last_attempts
from radreward.tuning.storage import open_storage
from tests.tuning.fake_training import fake_runner, parabola

MakeConfig = Callable[..., StudyConfig]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def states(study: Study) -> list[str]:
    return [trial.state.name for trial in study.trials]


def test_run_study_runs_the_requested_number_of_trials(
    make_config: MakeConfig, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = fake_runner(parabola)
    study = run_study(make_config(), runner, folder)
    assert [trial.number for trial in study.trials] == list(range(6))
    assert set(states(study)) == {"COMPLETE"}
    for trial in study.trials:
        assert trial.value == pytest.approx(-((trial.params["x"] - 3) ** 2) - 1 / 30)
        assert set(trial.intermediate_values) == {10, 20, 30}
        record = json.loads((folder / "trials" / str(trial.number) / "trial.json").read_text())
        assert record["params"] == trial.params
        assert (record["number"], record["state"], record["value"]) == (trial.number, "complete", trial.value)
    output = capsys.readouterr().err
    assert f"study toy: 6 trials in {folder}" in output
    assert "trial 5 of 6: x " in output
    assert "; done" in output
    assert " 0 left" not in output

    resumed = run_study(make_config(), runner, folder)
    assert [trial.value for trial in resumed.trials] == [trial.value for trial in study.trials]
    assert len(run_study(make_config(trials=8), runner, folder).trials) == 8


def test_minimized_study_best_value_is_lowest(make_config: MakeConfig, folder: Path) -> None:
    study = run_study(
        make_config(direction="minimize", trials=3), fake_runner(lambda chosen, step: chosen["x"] + step), folder
    )
    assert [trial.value for trial in study.trials] == [pytest.approx(trial.params["x"] + 10) for trial in study.trials]
    assert study.best_value == min(trial.value for trial in study.trials if trial.value is not None)


def test_failed_trial_is_recorded_and_study_continues(make_config: MakeConfig, folder: Path) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        if chosen["x"] == 1:
            raise ValueError("a bad\nnumber")
        if chosen["x"] == 2:
            raise InputError("groups.jsonl: gone.")
        return float("nan") if chosen["x"] == 3 else 1.0

    space = {"x": {"choices": [1, 2, 3, 4]}}
    study = run_study(make_config(sampler="grid", trials=None, space=space), fake_runner(value), folder)
    assert states(study) == ["FAIL", "FAIL", "FAIL", "COMPLETE"]
    reasons = ["ValueError: a bad number", "groups.jsonl: gone.", "val_tau is not finite at any validation"]
    assert [trial.user_attrs["reason"] for trial in study.trials[:3]] == reasons
    assert json.loads((folder / "trials" / "0" / "trial.json").read_text())["reason"] == reasons[0]
    assert "Traceback" in (folder / "trials" / "0" / "error.txt").read_text()


def test_failed_trials_are_tried_once_more_per_start_and_from_the_beginning(
    make_config: MakeConfig, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, runs = {1, 3}, []

    def value(chosen: Mapping[str, Any], step: int) -> float:
        runs.append(chosen["x"])
        if chosen["x"] in broken and step == 20:
            (folder / "trials" / str(chosen["x"]) / "checkpoints").mkdir()
            (folder / "trials" / str(chosen["x"]) / "checkpoints" / "last.ckpt").touch()
            raise ValueError("a bad loss.")
        assert chosen["ckpt_path"] == "null"
        return 1.0

    config = make_config(sampler="grid", trials=None, space={"x": {"choices": [0, 1, 2, 3]}})
    assert states(run_study(config, fake_runner(value), folder)) == ["COMPLETE", "FAIL", "COMPLETE", "FAIL"]
    output = capsys.readouterr().err
    assert "will be tried again" not in output
    assert re.search(r"^trial 1: failed after \d+\.\d s: ValueError: a bad loss\.$", output, re.MULTILINE)

    broken.remove(1)
    runs.clear()
    study = run_study(config, fake_runner(value), folder)
    assert runs == [1, 1, 1, 3, 3], "one attempt per start, with all steps"
    output = capsys.readouterr().err
    assert "study toy: 2 failed trials will be tried again" in output
    assert "trial 1 of 4 (again from the start): x 1" in output
    assert [trial.state.name for trial in last_attempts(study).values()] == ["COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]
    assert json.loads((folder / "trials" / "1" / "trial.json").read_text())["state"] == "complete"
    assert not (folder / "trials" / "1" / "error.txt").exists()

    broken.clear()
    study = run_study(config, fake_runner(value), folder)
    assert {trial.state.name for trial in last_attempts(study).values()} == {"COMPLETE"}
    assert "study toy: 1 failed trial will be tried again" in capsys.readouterr().err
    assert len(run_study(config, fake_runner(value), folder).trials) == len(study.trials)


def test_metric_that_is_never_logged_stops_the_study(make_config: MakeConfig, folder: Path) -> None:
    with pytest.raises(StudyError, match="metric: 'val_tua' is never logged; logged are val_tau"):
        run_study(make_config(metric="val_tua"), fake_runner(parabola), folder)
    study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
    assert states(study) == ["FAIL"]
    assert "never logged" in study.trials[0].user_attrs["reason"]
    with pytest.raises(
        InputError, match="that differs in metric. Change the name, or replace the study with --overwrite"
    ):
        run_study(make_config(trials=2), fake_runner(parabola), folder)
    study = run_study(make_config(trials=2), fake_runner(parabola), folder, overwrite=True)
    assert states(study) == ["COMPLETE"] * 2


def skip_validation(training: Any) -> None:
    training.fit = lambda searched: None


def use_two_processes(training: Any) -> None:
    training.trainer.world_size = 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (skip_validation, "never logged, because there was no validation"),
        (use_two_processes, "trainer: Expected one process per trial"),
    ],
)
def test_unusable_training_stops_the_study(
    make_config: MakeConfig, folder: Path, change: Callable[[Any], None], message: str
) -> None:
    runner = fake_runner(parabola)

    def build(base: Path, chosen: Any) -> Any:
        training = runner.build(base, chosen)
        change(training)
        return training

    with pytest.raises(StudyError, match=message):
        run_study(make_config(), TrialRunner(build, runner.dump_config), folder)


def test_trial_below_the_median_is_pruned_except_at_the_last_step(make_config: MakeConfig, folder: Path) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        value = -1.0 if chosen["x"] == 6 else 1.0
        return -1.0 if chosen["x"] == 7 and step == 30 else value

    space = {"x": {"low": 0, "high": 7}}
    study = run_study(make_config(sampler="grid", trials=None, prune=True, space=space), fake_runner(value), folder)
    assert states(study) == ["COMPLETE"] * 6 + ["PRUNED", "COMPLETE"]
    assert set(study.trials[6].intermediate_values) == {10}
    assert study.trials[6].user_attrs["reason"] == "worse than the median at step 10"
    assert study.trials[7].intermediate_values[30] == -1


@pytest.mark.parametrize(
    ("entries", "difference"),
    [
        ({"space": {"x": {"low": 0.0, "high": 11.0}}}, "space"),
        ({"seed": 1, "sampler": "random"}, "sampler and seed"),
        ({"overrides": {"trainer.max_steps": 3}}, "overrides"),
    ],
)
def test_changed_study_of_the_same_name_is_rejected(
    make_config: MakeConfig, folder: Path, entries: dict[str, Any], difference: str
) -> None:
    run_study(make_config(trials=1), fake_runner(parabola), folder)
    with pytest.raises(
        InputError, match=f"study toy: the storage holds a study of this name that differs in {difference}"
    ):
        run_study(make_config(trials=1, **entries), fake_runner(parabola), folder)


def test_changed_base_is_rejected_but_moved_base_is_accepted(
    make_config: MakeConfig, folder: Path, tmp_path: Path
) -> None:
    run_study(make_config(trials=1), fake_runner(parabola), folder)
    (tmp_path / "moved.yaml").write_text("run:   here  # unchanged\n")
    run_study(make_config(base=str(tmp_path / "moved.yaml"), trials=1), fake_runner(parabola), folder)
    (tmp_path / "moved.yaml").write_text("run: elsewhere\n")
    with pytest.raises(InputError, match="that differs in base"):
        run_study(make_config(base=str(tmp_path / "moved.yaml"), trials=1), fake_runner(parabola), folder)


def test_study_and_folder_of_another_program_are_not_overwritten(make_config: MakeConfig, folder: Path) -> None:
    storage = open_storage(None, folder.parent)
    optuna.create_study(storage=storage, study_name="toy").add_trial(create_trial(state=TrialState.RUNNING))
    with pytest.raises(InputError, match="that radreward did not create"):
        run_study(make_config(), fake_runner(parabola), folder, f"sqlite:///{folder.parent / 'study.db'}")
    (folder / "trials" / "0").mkdir(parents=True)
    with pytest.raises(InputError, match="holds trials of a study that is not in the storage"):
        run_study(make_config(), fake_runner(parabola), folder)
    assert (folder / "trials" / "0").is_dir()


@pytest.mark.parametrize("storage", [None, "elsewhere.db"])
def test_folder_of_something_else_is_refused_and_stays_as_it_is(
    make_config: MakeConfig, folder: Path, tmp_path: Path, storage: str | None
) -> None:
    folder.mkdir()
    (folder / "thesis.tex").write_text("unsaved")
    url = storage and f"sqlite:///{tmp_path / storage}"
    with pytest.raises(InputError, match=r"run: Expected a folder that is new, .* but it holds thesis\.tex\. Choose"):
        run_study(make_config(), fake_runner(parabola), folder, url)
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == ["thesis.tex"]
    (folder / "thesis.tex").unlink()
    assert len(run_study(make_config(trials=1), fake_runner(parabola), folder, url).trials) == 1
    (folder / "thesis.tex").write_text("added later")
    assert len(run_study(make_config(trials=1), fake_runner(parabola), folder, url).trials) == 1


def test_base_that_rejects_a_branch_raises_before_the_first_trial(make_config: MakeConfig, folder: Path) -> None:
    def reject(base: Path, chosen: Any) -> str:
        if "x=b" in chosen:
            raise InputError("x: Expected a but got b.")
        return ""

    with pytest.raises(InputError, match=r"study toy: .*base.yaml with x=b: x: Expected a but got b."):
        run_study(
            make_config(space={"x": {"choices": ["a", "b"]}}), TrialRunner(fake_runner(parabola).build, reject), folder
        )
    assert not folder.exists()


def test_resumed_study_checks_its_base_only(make_config: MakeConfig, folder: Path) -> None:
    runner, checked = fake_runner(parabola), list[Sequence[str]]()

    def dump_config(base: Path, settings: Sequence[str]) -> str:
        checked.append(settings)
        return runner.dump_config(base, settings)

    for trials in (1, 2):
        checked.clear()
        run_study(make_config(trials=trials), TrialRunner(runner.build, dump_config), folder)
        assert (len(checked) > 1) == (trials == 1)


def test_interrupted_trial_is_resumed_under_its_number(
    make_config: MakeConfig, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    interruptions = iter([False, False, True])

    def value(chosen: Mapping[str, Any], step: int) -> float:
        if step == 20 and next(interruptions, False):
            raise KeyboardInterrupt
        return parabola(chosen, step)

    with pytest.raises(KeyboardInterrupt, match="Run the same command again to resume the study"):
        run_study(make_config(), fake_runner(value), folder)
    study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
    assert states(study) == ["COMPLETE", "COMPLETE", "FAIL"]
    study = run_study(make_config(), fake_runner(parabola), folder)
    assert states(study) == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE", "COMPLETE", "COMPLETE", "COMPLETE"]
    assert study.trials[3].params == study.trials[2].params
    assert "trial 2 of 6 (resumed)" in capsys.readouterr().err
    uninterrupted = run_study(make_config(), fake_runner(parabola), folder.with_name("uninterrupted"))
    assert [(trial.params, trial.value) for trial in last_attempts(study).values()] == [
        (trial.params, trial.value) for trial in uninterrupted.trials
    ]
    assert sorted(path.name for path in (folder / "trials").iterdir()) == list("012345")


def test_result_of_a_reclaimed_trial_counts_once(
    make_config: MakeConfig, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def value(chosen: Mapping[str, Any], step: int) -> float:
        if step == 30:
            study = optuna.load_study(storage=open_storage(None, folder), study_name="toy")
            study.tell(study.trials[-1].number, 5.0)
        return parabola(chosen, step)

    study = run_study(make_config(trials=1), fake_runner(value), folder)
    assert [trial.value for trial in study.trials] == [5.0]
    assert "another worker took it over" in capsys.readouterr().err


def test_grid_study_tries_the_first_or_all_combinations_in_order(make_config: MakeConfig, folder: Path) -> None:
    space: dict[str, Any] = {
        "kind": {"choices": ["a", None]},
        "x": {"low": 0.0, "high": 0.3, "step": 0.1, "active_if": {"kind": "a"}},
    }
    first = make_config(sampler="grid", trials=2, space=space)
    study = run_study(first, fake_runner(lambda values, step: 1.0), folder)
    assert [trial.params for trial in study.trials] == first.space.grid()[:2]
    config = make_config(sampler="grid", trials=None, space=space)
    study = run_study(config, fake_runner(lambda values, step: 1.0), folder)
    assert [trial.params for trial in study.trials] == config.space.grid()


def work(config: Path, folder: Path, url: str, log: Path) -> None:
    """Run trials of a study that take a tenth of a second; the target of a process."""

    def slow_parabola(chosen: Mapping[str, Any], step: int) -> float:
        time.sleep(0.03)
        return parabola(chosen, step)

    with log.open("w") as file, redirect_stderr(file):
        run_study(load_study_config(config), fake_runner(slow_parabola), folder, url)


@pytest.mark.parametrize("storage", ["sqlite:///{}/study.db", "journal:{}/log"])
def test_two_workers_share_a_study_without_extra_trials(
    processes: ForkServerContext, study_file: Any, make_config: MakeConfig, tmp_path: Path, storage: str
) -> None:
    path = study_file(trials=15)
    url, logs = storage.format(tmp_path), [tmp_path / "first.txt", tmp_path / "second.txt"]
    workers = [processes.Process(target=work, args=(path, tmp_path / "run", url, log)) for log in logs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    outputs = [log.read_text() for log in logs]
    assert [worker.exitcode for worker in workers] == [0, 0], outputs
    study = optuna.load_study(storage=open_storage(url, tmp_path), study_name="toy")
    assert [trial.number for trial in study.trials] == list(range(15))
    assert set(states(study)) == {"COMPLETE"}
    assert len({trial.params["x"] for trial in study.trials}) == 15
    trial_numbers = [line.split()[1] for text in outputs for line in text.splitlines() if " of 15: " in line]
    assert sorted(map(int, trial_numbers)) == list(range(15))  # each trial once


def test_folder_of_a_trial_is_claimed_until_its_result_is_stored(
    make_config: MakeConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise another worker could take a trial that has just ended for an interrupted one."""
    claimed = []

    class Storage(optuna.storages.InMemoryStorage):
        def set_trial_state_values(
            self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
        ) -> bool:
            if state.is_finished():
                trial = self.get_trial(trial_id)
                claimed.append((folder / "trials" / str(trial.number) / LOCK_NAME).exists())
            return super().set_trial_state_values(trial_id, state, values)

    monkeypatch.setattr("radreward.tuning.study.open_storage", lambda *_: Storage())
    run_study(make_config(trials=2), fake_runner(parabola), folder)
    assert claimed == [True, True]


def test_lost_storage_raises_input_error(
    make_config: MakeConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise optuna.exceptions.StorageInternalError("no route to host")

    monkeypatch.setattr("radreward.tuning.worker.queue_interrupted_trials", fail)
    with pytest.raises(InputError, match="study.db: no longer responds .no route to host."):
        run_study(make_config(), fake_runner(parabola), folder)


def test_state_names_cover_all_states() -> None:
    from radreward.tuning.trial import STATE_NAMES

    assert set(STATE_NAMES) == set(TrialState)
