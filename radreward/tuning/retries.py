"""Retries of trials that failed, or whose worker was killed or interrupted.

A copy with the same values is queued. All attempts of a trial share its index and its folder. After an interruption,
the next attempt resumes from the checkpoint in the folder; after a failure, it starts from the beginning.
"""

from __future__ import annotations

import copy
import platform
from pathlib import Path

from optuna.storages import RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from radreward.io.locks import try_lock
from radreward.io.outputs import LOCK_NAME
from radreward.tuning.optuna_warnings import allow_experimental

FOLDER_ATTR = "folder"
"""User attribute of a trial: folder of its run on the worker's machine."""
HOST_ATTR = "host"
"""User attribute of a trial: name of the worker's machine."""
STUDY_FOLDER_ATTR = "study_folder"
"""User attribute of a trial: folder of the study of the worker that starts it."""
REASON_ATTR = "reason"
"""User attribute of a trial with the reason why it failed or was pruned.

A failed trial without a reason was interrupted.
"""

with allow_experimental():
    retry = RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)
    restart = RetryHeartbeatStaleTrialCallback()


def last_attempts(study: Study) -> dict[int, FrozenTrial]:
    """Return the last attempt of every trial, by Optuna's number of its first attempt."""
    return {_first_number(trial): trial for trial in study.get_trials(deepcopy=False)}


def trial_index(study: Study, trial: FrozenTrial) -> int:
    """Return the index of a trial, which is Optuna's number of it in a study without retries."""
    return list(last_attempts(study)).index(_first_number(trial))


def is_retry(trial: FrozenTrial) -> bool:
    """Return True if a trial is a later attempt."""
    return _first_number(trial) != trial.number


def has_failed_before(study: Study, trial: FrozenTrial) -> bool:
    """Return True if the previous attempt of a trial failed, so that this one starts from the beginning."""
    with allow_experimental():
        numbers = retry.retry_history(trial)
    return bool(numbers) and REASON_ATTR in study.get_trials(deepcopy=False)[numbers[-1]].user_attrs


def failed_trials(study: Study) -> list[FrozenTrial]:
    """Return the last attempts of the trials that failed; interrupted trials are no failures."""
    return [trial for trial in last_attempts(study).values() if _has_failed(trial)]


def _has_failed(trial: FrozenTrial) -> bool:
    return trial.state == TrialState.FAIL and REASON_ATTR in trial.user_attrs


def _first_number(trial: FrozenTrial) -> int:
    with allow_experimental():
        first = retry.retried_trial_number(trial)
    return trial.number if first is None else first


def queue_new_trial(study: Study, folder: Path) -> None:
    """Queue a trial that names its worker from the start, which may be killed before the trial has values.

    Args:
        study: The study.
        folder: Folder of the study of this worker.
    """
    study.enqueue_trial({}, user_attrs={HOST_ATTR: platform.node(), STUDY_FOLDER_ATTR: str(folder.absolute())})


def queue_failed_trials(study: Study) -> int:
    """Queue a copy of every failed trial, without its reported values, and return their number.

    Call this once per start of a worker: in a loop, a trial that always fails would never end.
    """
    failed = failed_trials(study)
    for trial in failed:
        again = copy.deepcopy(trial)
        again.user_attrs = {name: value for name, value in trial.user_attrs.items() if name != REASON_ATTR}
        restart(study, again)
    return len(failed)


def queue_interrupted_trials(study: Study, folder: Path) -> None:
    """Queue a copy of every trial whose worker was killed or interrupted.

    A worker counts as dead if the database had no heartbeat for a minute, or if its run folder has a lock file that no
    process holds, or if it was about to start a trial in the folder of this study. The last two are found at once, and
    with journal files too.

    Args:
        study: The study.
        folder: Its folder, in which no other worker starts a trial during the call.
    """
    with allow_experimental():
        fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        _fail_if_worker_died(study, trial, folder)
    for trial in last_attempts(study).values():
        if trial.state == TrialState.FAIL and REASON_ATTR not in trial.user_attrs:
            retry(study, trial)


def _fail_if_worker_died(study: Study, trial: FrozenTrial, folder: Path) -> None:
    attributes = trial.user_attrs
    path = Path(attributes.get(FOLDER_ATTR, ""), LOCK_NAME)
    if FOLDER_ATTR not in attributes or not path.exists():  # the run has not started, or it is on another machine
        starter = attributes.get(HOST_ATTR), attributes.get(STUDY_FOLDER_ATTR)
        if starter == (platform.node(), str(folder.absolute())):
            study.tell(trial.number, state=TrialState.FAIL)
        return
    try:
        lock = try_lock(path)
    except OSError:  # of another user, or on a file system without locks
        return
    if lock:
        study.tell(trial.number, state=TrialState.FAIL)
        lock.release()
