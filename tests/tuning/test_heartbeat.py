import os
import subprocess
import sys
import time
from typing import Any

import optuna
import pytest
from optuna.trial import Trial, TrialState, create_trial

from radreward.tuning import heartbeat as workers
from radreward.tuning.heartbeat import HeartbeatMonitor, heartbeat, is_own_trial, worker_id, write_heartbeat


@pytest.fixture
def trial() -> Trial:
    return optuna.create_study().ask()


def marked(**mark: Any) -> optuna.trial.FrozenTrial:
    return create_trial(
        state=TrialState.RUNNING, user_attrs={workers.HEARTBEAT_ATTR: {**worker_id(), "beat": 0, **mark}}
    )


def test_a_process_that_is_no_more_is_dead_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert HeartbeatMonitor().status(marked(pid=ended.pid)) == "dead"
    assert HeartbeatMonitor().status(marked(pid=ended.pid, host="elsewhere")) == "unknown"


def test_what_this_process_does_not_run_any_more_is_dead() -> None:
    assert HeartbeatMonitor().status(marked(pid=os.getpid())) == "dead"


def test_a_sign_of_life_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    watch, other = HeartbeatMonitor(), {"host": "elsewhere"}
    assert watch.status(marked(**other)) == "unknown"
    clock = workers.HEARTBEAT_TIMEOUT
    assert watch.status(marked(**other)) == "unknown"
    assert watch.status(marked(**other, beat=1)) == "alive"
    clock += workers.HEARTBEAT_TIMEOUT
    assert watch.status(marked(**other, beat=1)) == "alive"
    clock += 1
    assert watch.status(marked(**other, beat=1)) == "dead"


def test_one_that_never_gave_a_sign_is_dead_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    watch = HeartbeatMonitor()
    unmarked = create_trial(state=TrialState.RUNNING)
    assert watch.status(unmarked) == "unknown"
    clock = workers.HEARTBEAT_TIMEOUT + 1
    assert watch.status(unmarked) == "dead"


def test_marks_go_on_until_the_trial_is_left(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BEAT", 0.01)
    write_heartbeat(trial)
    with heartbeat(trial):
        deadline = time.monotonic() + 20
        while trial.study.trials[0].user_attrs[workers.HEARTBEAT_ATTR]["beat"] < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    left = trial.study.trials[0].user_attrs[workers.HEARTBEAT_ATTR]["beat"]
    time.sleep(0.05)
    assert trial.study.trials[0].user_attrs[workers.HEARTBEAT_ATTR]["beat"] == left
    assert is_own_trial(trial.study.trials[0])


def test_a_storage_that_takes_no_mark_is_told_and_asked_again(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def broken(trial: Trial, beat: int = 0) -> None:
        tried.append(beat)
        raise OSError("disk full")

    monkeypatch.setattr(workers, "BEAT", 0.01)
    monkeypatch.setattr(workers, "mark", broken)
    with heartbeat(trial):
        deadline = time.monotonic() + 20
        while len(tried) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert "trial 0: the storage does not take a mark (disk full)" in capsys.readouterr().err


def test_a_trial_of_another_worker_is_not_ones_own() -> None:
    assert is_own_trial(marked())
    assert not is_own_trial(marked(pid=1))
    assert not is_own_trial(create_trial(state=TrialState.RUNNING))
