"""A queue of bounded length in front of one scoring thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar

T = TypeVar("T")


class QueueFullError(Exception):
    """Raised if as many requests wait as may wait."""


class ScoringQueue:
    """Runs functions one after the other in a thread of its own, so that a model is never used twice at a time.

    Args:
        max_requests: Number of functions that may wait or run together.
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
        """Drop what waits and wait for what runs."""
        self._executor.shutdown(cancel_futures=True)
