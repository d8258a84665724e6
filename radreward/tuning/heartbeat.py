"""Ownership of trials: which worker runs a trial, and whether that worker is alive.

Databases use the heartbeat of Optuna's `RDBStorage`. Optuna's recovery on top of it, `RetryFailedTrialCallback`, fails
the stale trial and adds a copy; here the trial itself is resumed, with its number, folder and checkpoint, so that an
interrupted study ends with the same trials as an uninterrupted one. A dead worker on the same machine is recognized by
its process id, without waiting for the heartbeat to time out. Journal files have no heartbeat in Optuna: a trial of a
dead worker is resumed by the next worker on the same machine only.
"""

from __future__ import annotations

import os
import platform
import uuid
from typing import Any

from optuna.storages._heartbeat import BaseHeartbeat  # Optuna has no public name for it
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

HEARTBEAT_INTERVAL = 10
"""Seconds between two heartbeats of a worker."""
HEARTBEAT_TIMEOUT = 60
"""Seconds without a heartbeat after which a worker counts as dead."""
WORKER_ATTR = "worker"
"""User attribute of a trial: host and process id of its worker."""
FOLDER_ATTR = "folder"
"""User attribute of a trial: folder of its run on the worker's machine."""


def worker_id() -> dict[str, Any]:
    """Return host and process id of this worker."""
    return {"host": f"{platform.node()} {uuid.getnode():x}", "pid": os.getpid()}


def take_ownership(trial: Trial) -> None:
    """Record this worker as the owner of a trial."""
    storage = trial.study._storage
    if isinstance(storage, BaseHeartbeat):
        storage.record_heartbeat(trial._trial_id)
    trial.set_user_attr(WORKER_ATTR, worker_id())


def is_own_trial(trial: FrozenTrial) -> bool:
    """Return True if this worker is the last owner of the trial."""
    return bool(trial.user_attrs.get(WORKER_ATTR) == worker_id())


def abandoned_trial(study: Study) -> FrozenTrial | None:
    """Return the first running trial whose worker is dead, or None.

    To be called within `study_lock` and while this worker runs no trial.
    """
    storage = study._storage
    stale = storage._get_stale_trial_ids(study._study_id) if isinstance(storage, BaseHeartbeat) else []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        worker = trial.user_attrs.get(WORKER_ATTR)
        # Without an owner: the worker was killed between creating the trial and `take_ownership`.
        if worker is None or trial._trial_id in stale or _has_exited(worker):
            return trial
    return None


def _has_exited(worker: dict[str, Any]) -> bool:
    """Return True if a worker of this machine runs no trial any more."""
    own = worker_id()
    if worker["host"] != own["host"]:
        return False
    if worker["pid"] == own["pid"]:
        return True
    try:
        os.kill(worker["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # a process of another user
        return False
    return False
