"""Whose trial it is, and whether that worker is alive: known from marks in the storage, without comparing clocks."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from optuna.trial import FrozenTrial, Trial

HEARTBEAT_INTERVAL = 10.0
"""Seconds between two marks of a worker that is alive."""
HEARTBEAT_TIMEOUT = 60.0
"""Seconds without one after which it is taken for dead."""
HEARTBEAT_ATTR = "worker"
FOLDER_ATTR = "folder"
"""Entry of a trial: where its run lies on that worker's machine."""


def worker_id() -> dict[str, Any]:
    """What names this process: machine and number."""
    return {"host": f"{platform.node()} {uuid.getnode():x}", "pid": os.getpid()}


@contextmanager
def heartbeat(trial: Trial) -> Iterator[None]:
    """Marks the trial as this worker's, every few seconds until it leaves."""
    stopped = threading.Event()

    def beat() -> None:
        count = 0
        while not stopped.wait(HEARTBEAT_INTERVAL):
            count += 1
            try:
                write_heartbeat(trial, count)
            except Exception as error:  # the next one may succeed; what is computed meanwhile stays
                print(f"trial {trial.number}: the storage does not take a mark ({error})", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def write_heartbeat(trial: Trial, beat: int = 0) -> None:
    """Say in the storage that this worker runs the trial."""
    trial.set_user_attr(HEARTBEAT_ATTR, {**worker_id(), "beat": beat})


def is_own_trial(frozen: FrozenTrial) -> bool:
    """Whether the last to mark the trial was this worker."""
    found = frozen.user_attrs.get(HEARTBEAT_ATTR, {})
    return {key: found.get(key) for key in worker_id()} == worker_id()


class HeartbeatMonitor:
    """Looks at the marks of running trials again and again."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Mapping[str, Any], float, bool]] = {}

    def status(self, frozen: FrozenTrial) -> Literal["alive", "dead", "unknown"]:
        """Alive: there was a new mark since the first look. Dead: no process, or no new mark for a while."""
        found, now = frozen.user_attrs.get(HEARTBEAT_ATTR, {}), time.monotonic()
        here = worker_id()
        if found.get("host") == here["host"] and (found["pid"] == here["pid"] or not _process_exists(found["pid"])):
            return "dead"
        last, since, moved = self._seen.get(frozen.number, (found, now, False))
        if found != last:
            last, since, moved = found, now, True
        self._seen[frozen.number] = last, since, moved
        if now - since > HEARTBEAT_TIMEOUT:
            return "dead"
        return "alive" if moved else "unknown"


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        return True
    return True
