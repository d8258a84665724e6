"""Processes that are killed right before each of their file operations."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count

from radreward.io.scratch import _swept

FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}


def kill_before_each_file_event(action: Callable[[], object], step: int = 1) -> Iterator[int]:
    """Run an action in forked processes, of which each is killed later than the one before; the last one ends.

    Yields:
        The number of file events of each process, after its end.
    """
    for events in count(0, step):
        child = os.fork()
        if child == 0:
            try:
                _swept.clear()  # as in a new process
                _kill_after(events)
                action()
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL)
        yield events
        if status == 0:
            return


def _kill_after(events: int) -> None:
    numbers = count()

    def hook(event: str, arguments: object) -> None:
        if event in FILE_EVENTS and next(numbers) == events:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
