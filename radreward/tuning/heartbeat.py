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

BEAT = 10.0
"""Seconds between two marks of a worker that is alive."""
GRACE = 60.0
"""Seconds without one after which it is taken for dead."""
MARK = "worker"
FOLDER = "folder"
"""Entry of a trial: where its run lies on that worker's machine."""


def me() -> dict[str, Any]:
    """What names this process: machine and number."""
    return {"host": f"{platform.node()} {uuid.getnode():x}", "pid": os.getpid()}


@contextmanager
def alive(trial: Trial) -> Iterator[None]:
    """Marks the trial as this worker's, every few seconds until it leaves."""
    stopped = threading.Event()

    def beat() -> None:
        count = 0
        while not stopped.wait(BEAT):
            count += 1
            try:
                mark(trial, count)
            except Exception as error:  # the next one may succeed; what is computed meanwhile stays
                print(f"trial {trial.number}: the storage does not take a mark ({error})", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def mark(trial: Trial, beat: int = 0) -> None:
    """Say in the storage that this worker runs the trial."""
    trial.set_user_attr(MARK, {**me(), "beat": beat})


def owns(frozen: FrozenTrial) -> bool:
    """Whether the last to mark the trial was this worker."""
    found = frozen.user_attrs.get(MARK, {})
    return {key: found.get(key) for key in me()} == me()


class Watch:
    """Looks at the marks of running trials again and again."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Mapping[str, Any], float, bool]] = {}

    def look(self, frozen: FrozenTrial) -> Literal["alive", "dead", "unknown"]:
        """Alive: there was a new mark since the first look. Dead: no process, or no new mark for a while."""
        found, now = frozen.user_attrs.get(MARK, {}), time.monotonic()
        here = me()
        if found.get("host") == here["host"] and (found["pid"] == here["pid"] or not _exists(found["pid"])):
            return "dead"
        last, since, moved = self._seen.get(frozen.number, (found, now, False))
        if found != last:
            last, since, moved = found, now, True
        self._seen[frozen.number] = last, since, moved
        if now - since > GRACE:
            return "dead"
        return "alive" if moved else "unknown"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        return True
    return True
