"""Scoring in several processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

import torch

from radreward.devices import usable_cores
from radreward.errors import InputError
from radreward.io.free_memory import return_free_memory
from radreward.scorers.base import Scorer
from radreward.scoring.backends import ScoredChunk
from radreward.scoring.input_scan import FileChunk
from radreward.scoring.pairs import Pairs
from radreward.scoring.score_columns import ScorerGroup
from radreward.types import Scores

ScorerFactory = Callable[[], Scorer | ScorerGroup]


class ProcessBackend:
    """Scores chunks in several processes of this machine; see `ScoringBackend`.

    Each process builds its own scorer when it gets its first chunk, and uses its share of the cores. At most two chunks
    per process are in memory. The processes end with this one, even if it is killed.

    Args:
        scorer_factory: Builds the scorer, or several, in every process; a function that can be pickled.
        num_workers: Number of processes.

    Raises:
        ValueError: If `num_workers` is not positive.
    """

    def __init__(self, scorer_factory: ScorerFactory, num_workers: int = 2) -> None:
        if num_workers < 1:
            raise ValueError(f"Expected `num_workers` to be >= 1 but got {num_workers}.")
        self.scorer_factory, self.num_workers = scorer_factory, num_workers

    def __call__(self, chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        """See `ScoringBackend`.

        Raises:
            InputError: If a process dies.
        """
        chunks = iter(chunks)
        factory, num_threads = self.scorer_factory, max(1, usable_cores() // self.num_workers)
        # A forked process could not use the threads that OpenMP has started in this one.
        executor = ProcessPoolExecutor(self.num_workers, get_context("spawn"), _start_worker, (factory, num_threads))
        running: dict[Future[list[Scores]], FileChunk] = {}
        try:
            for chunk in islice(chunks, 2 * self.num_workers):
                running[executor.submit(_score, chunk.pairs)] = chunk
            while running:
                for task in wait(running, return_when=FIRST_COMPLETED).done:
                    chunk, scores = running.pop(task), _result(task)
                    if (following := next(chunks, None)) is not None:
                        running[executor.submit(_score, following.pairs)] = following
                    yield chunk, scores
        finally:
            executor.shutdown(cancel_futures=True)


def _result(task: Future[list[Scores]]) -> list[Scores]:
    try:
        return [_converted(scores, torch.from_numpy, "ndarray") for scores in task.result()]
    except BrokenProcessPool as error:
        raise InputError(
            "Expected all workers to run to the end but one died; perhaps the memory was exhausted. Run the same "
            "command again: it resumes. Set a lower --num-workers if it dies again."
        ) from error


_worker_factories: list[ScorerFactory] = []
"""In a worker: the factory of its scorer."""


def _start_worker(factory: ScorerFactory, num_threads: int) -> None:
    _worker_factories.append(factory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the main process, which ends this one
    torch.set_num_threads(num_threads)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _worker_scorers() -> ScorerGroup:
    return ScorerGroup.of(_worker_factories[0]())


def _score(pairs: Pairs) -> list[Scores]:
    scored = [_converted(scores, lambda values: values.numpy(), "Tensor") for scores in _worker_scorers().score(pairs)]
    return_free_memory()
    return scored


def _converted(scores: Scores, convert: Callable[[Any], Any], kind: str) -> Scores:
    """Return scores with tensors as arrays or the reverse: tensors would be sent in shared memory, one file each."""
    values: list[Any] = [convert(value) if type(value).__name__ == kind else value for value in scores]
    return Scores(*values)
