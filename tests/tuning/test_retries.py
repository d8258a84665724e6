"""Tests of retries: interrupted trials, run folders with and without the lock of a worker, and stale heartbeats."""

import sqlite3
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from radreward.io.outputs import LOCK_NAME, claimed_folder
from radreward.tuning.retries import (
    FOLDER_ATTR,
    REASON_ATTR,
    failed_trials,
    has_failed_before,
    is_retry,
    last_attempts,
    queue_failed_trials,
    queue_interrupted_trials,
    queue_new_trial,
    trial_index,
)
from radreward.tuning.storage import open_storage
from radreward.tuning.worker import TrialLost


@pytest.fixture(params=["sqlite", "journal"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Study:
    url = None if request.param == "sqlite" else f"journal:{tmp_path / 'log'}"
    return optuna.create_study(storage=open_storage(url, tmp_path), study_name="toy")


def add(study: Study, state: TrialState, **attributes: Any) -> None:
    value = 1.0 if state == TrialState.COMPLETE else None
    study.add_trial(create_trial(state=state, value=value, user_attrs=attributes, intermediate_values={10: 0.5}))


def states(study: Study) -> list[str]:
    return [trial.state.name for trial in study.trials]


def test_running_trial_of_a_killed_worker_is_queued_with_its_values(study: Study, tmp_path: Path) -> None:
    add(study, TrialState.RUNNING, **{FOLDER_ATTR: str(tmp_path)})
    (tmp_path / LOCK_NAME).touch()  # as a killed worker leaves it
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "WAITING"]
    assert study.trials[1].intermediate_values == {10: 0.5}
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "WAITING"]


def test_running_trial_of_a_live_or_unknown_worker_is_left_alone(study: Study, tmp_path: Path) -> None:
    add(study, TrialState.RUNNING, **{FOLDER_ATTR: str(tmp_path)})
    add(study, TrialState.RUNNING, **{FOLDER_ATTR: str(tmp_path / "of another machine")})
    add(study, TrialState.RUNNING)
    with claimed_folder(tmp_path):
        queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["RUNNING"] * 3


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")  # of `ask`
def test_trial_whose_worker_died_before_it_had_values_is_queued(study: Study, tmp_path: Path) -> None:
    queue_new_trial(study, tmp_path)
    queue_new_trial(study, tmp_path / "of another worker")
    for _ in range(2):
        study.ask()  # the worker is killed here
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "RUNNING", "WAITING"]
    assert [trial_index(study, trial) for trial in study.trials] == [0, 1, 0]


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")  # of `ask`
def test_trial_whose_worker_died_before_its_run_is_queued(study: Study, tmp_path: Path) -> None:
    queue_new_trial(study, tmp_path)
    study.ask().set_user_attr(FOLDER_ATTR, str(tmp_path / "trials" / "0"))
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "WAITING"]


def test_only_a_failed_trial_without_a_reason_is_queued(study: Study, tmp_path: Path) -> None:
    add(study, TrialState.FAIL, **{REASON_ATTR: "a bad number"})
    add(study, TrialState.COMPLETE)
    add(study, TrialState.FAIL)
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "COMPLETE", "FAIL", "WAITING"]


def test_failed_trials_are_queued_from_the_start_and_then_count_as_new(study: Study, tmp_path: Path) -> None:
    add(study, TrialState.FAIL, **{REASON_ATTR: "a bad number", FOLDER_ATTR: "trials/0"})
    add(study, TrialState.COMPLETE)
    add(study, TrialState.FAIL)  # interrupted
    assert [trial.number for trial in failed_trials(study)] == [0]
    assert queue_failed_trials(study) == 1
    assert queue_failed_trials(study) == 0
    queue_interrupted_trials(study, tmp_path)
    assert states(study) == ["FAIL", "COMPLETE", "FAIL", "WAITING", "WAITING"]
    again, resumed = study.trials[3:]
    assert (again.user_attrs, again.intermediate_values) == ({FOLDER_ATTR: "trials/0"}, {})
    assert [has_failed_before(study, trial) for trial in study.trials] == [False, False, False, True, False]
    assert [trial_index(study, trial) for trial in (again, resumed)] == [0, 2]
    assert study.trials[0].user_attrs[REASON_ATTR] == "a bad number"
    assert failed_trials(study) == []


def test_trial_with_a_stale_heartbeat_is_queued(tmp_path: Path) -> None:
    study = optuna.create_study(storage=open_storage(None, tmp_path), study_name="toy")
    running = []

    def objective(trial: optuna.Trial) -> float:  # `optimize` sends heartbeats
        other = optuna.load_study(storage=open_storage(None, tmp_path), study_name="toy")
        queue_interrupted_trials(other, tmp_path)
        running.extend(states(other))
        with sqlite3.connect(tmp_path / "study.db") as database:
            database.execute("UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 hour')")
        database.close()
        queue_interrupted_trials(other, tmp_path)
        raise TrialLost

    with pytest.raises(TrialLost):
        study.optimize(objective, n_trials=1)
    assert running == ["RUNNING"]
    assert states(study) == ["FAIL", "WAITING"]


def test_attempts_of_a_trial_share_its_index(study: Study, tmp_path: Path) -> None:
    add(study, TrialState.COMPLETE)
    add(study, TrialState.FAIL)
    add(study, TrialState.COMPLETE)
    queue_interrupted_trials(study, tmp_path)
    add(study, TrialState.COMPLETE)
    assert [trial_index(study, trial) for trial in study.trials] == [0, 1, 2, 1, 3]
    assert [is_retry(trial) for trial in study.trials] == [False, False, False, True, False]
    assert [trial.number for trial in last_attempts(study).values()] == [0, 3, 2, 4]
