"""A queue of bounded length in front of one scoring thread, which serves the requests in turns."""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread

from radreward.serving.scoring import ScoringJob, SlicePart, next_slice, score_slice


class QueueFullError(Exception):
    """Raised if the maximum number of requests already waits."""


class ScoringQueue:
    """Scores jobs in one thread, a slice of one after a slice of another, so that none holds up the others.

    Jobs that wait for the same scorer share slices. A job ends when its future is done or cancelled; a cancelled one
    costs at most the slice that is being scored.

    Args:
        max_requests: Maximum number of jobs that wait or are scored.
    """

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self._jobs: deque[ScoringJob] = deque()
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._run, name="scoring", daemon=True)
        self._thread.start()

    def submit(self, job: ScoringJob) -> None:
        """Append a job.

        Raises:
            QueueFullError: If the queue is full.
        """
        with self._changed:
            if len(self._jobs) >= self.max_requests:
                raise QueueFullError
            self._jobs.append(job)
            self._changed.notify()
        job.future.add_done_callback(lambda _: self._remove(job))

    def close(self) -> None:
        """Cancel all jobs, and wait for the slice that is being scored."""
        with self._changed:
            self._closed = True
            jobs = list(self._jobs)
            self._changed.notify()
        for job in jobs:
            job.future.cancel()
        self._thread.join()

    def _remove(self, job: ScoringJob) -> None:
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)

    def _run(self) -> None:
        while (parts := self._next_parts()) is not None:
            if parts:
                score_slice(parts)

    def _next_parts(self) -> list[SlicePart] | None:
        """Return the next slice once there is a job, or None if the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            if self._closed:
                return None
            jobs = list(self._jobs)
            self._jobs.rotate(-1)  # the first job is the last of the next turn
        return next_slice(jobs)
