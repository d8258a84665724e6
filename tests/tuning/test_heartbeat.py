"""Tests of trial ownership: exited workers on this machine, and stale heartbeats of other machines."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial

from radreward.tuning.heartbeat import WORKER_ATTR, abandoned_trial, is_own_trial, take_ownership, worker_id
from radreward.tuning.storage import open_storage


@pytest.fixture(params=["sqlite", "journal"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Study:
    url = None if request.param == "sqlite" else f"journal:{tmp_path / 'log'}"
    return optuna.create_study(storage=open_storage(url, tmp_path), study_name="toy")


def add_running_trial(study: Study, **worker: Any) -> Trial:
    """Add a running trial whose worker has the given fields."""
    trial = Trial(study, study._storage.create_new_trial(study._study_id))
    take_ownership(trial)
    trial.set_user_attr(WORKER_ATTR, {**worker_id(), **worker})
    return trial


def exited_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_trial_of_an_exited_process_is_abandoned(study: Study) -> None:
    add_running_trial(study, host="elsewhere", pid=exited_pid())
    assert abandoned_trial(study) is None
    trial = add_running_trial(study, pid=exited_pid())
    abandoned = abandoned_trial(study)
    assert abandoned is not None
    assert abandoned.number == trial.number


def test_trial_of_another_live_process_is_not_abandoned(study: Study) -> None:
    add_running_trial(study, pid=os.getppid())
    assert abandoned_trial(study) is None


def test_trial_that_this_process_no_longer_runs_is_abandoned(study: Study) -> None:
    add_running_trial(study)
    assert abandoned_trial(study) is not None


def test_trial_without_an_owner_is_abandoned(study: Study) -> None:
    study._storage.create_new_trial(study._study_id)
    assert abandoned_trial(study) is not None


def test_finished_trial_is_not_abandoned(study: Study) -> None:
    study.tell(add_running_trial(study).number, 1.0)
    assert abandoned_trial(study) is None


def test_trial_with_a_stale_heartbeat_is_abandoned(tmp_path: Path) -> None:
    study = optuna.create_study(storage=open_storage(None, tmp_path), study_name="toy")
    trial = add_running_trial(study, host="elsewhere")
    assert abandoned_trial(study) is None
    with sqlite3.connect(tmp_path / "study.db") as database:
        database.execute("UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 hour')")
    database.close()
    assert abandoned_trial(study) is not None
    take_ownership(trial)
    trial.set_user_attr(WORKER_ATTR, {**worker_id(), "host": "elsewhere"})
    assert abandoned_trial(study) is None


def test_is_own_trial_compares_host_and_process() -> None:
    def is_own(**worker: Any) -> bool:
        attrs = {WORKER_ATTR: {**worker_id(), **worker}}
        return is_own_trial(create_trial(state=TrialState.RUNNING, user_attrs=attrs))

    assert is_own()
    assert not is_own(pid=1)
    assert not is_own(host="elsewhere")
    assert not is_own_trial(create_trial(state=TrialState.RUNNING))
