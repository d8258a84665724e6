"""A queue of bounded length in front of one scoring thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar

T = TypeVar("T")


class QueueFullError(Exception):
    """Raised if the maximum number of requests already waits."""


class ScoringQueue:
    """Runs functions one after the other in one thread, so that two requests never use a model at the same time.

    Args:
        max_requests: Maximum number of functions that wait or run.
    """

    def __init__(self, max_requests: int) -> None:
        self._slots = BoundedSemaphore(max_requests)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scoring")

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Append a function and return its future.

        Raises:
            QueueFullError: If the queue is full.
        """
        if not self._slots.acquire(blocking=False):
            raise QueueFullError
        future = self._executor.submit(function)
        future.add_done_callback(lambda _: self._slots.release())
        return future

    def close(self) -> None:
        """Cancel waiting functions, and wait for the running one."""
        self._executor.shutdown(cancel_futures=True)
