"""Scoring on several machines, in the actors of a Ray cluster."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from radreward.errors import InputError
from radreward.extras import require_packages
from radreward.scorers.base import Scorer
from radreward.scoring.backends import ScoredChunk
from radreward.scoring.input_scan import FileChunk
from radreward.scoring.pairs import Pairs
from radreward.scoring.score_columns import ScorerGroup
from radreward.types import Scores

_OBJECT_STORE_BYTES = 512 * 2**20
"""Memory that the processes of a local cluster share: a few chunks of texts and their scores."""
_MAX_RETRIES = 5
"""Restarts of a worker, and attempts at a chunk, after which the run stops."""


class RayBackend:
    """Scores chunks in workers of a Ray cluster; see `ScoringBackend`.

    Each worker builds its own scorer. If a worker dies, its chunk is scored again. At most two chunks per worker are in
    memory.

    Args:
        scorer_factory: Builds the scorer, or several, in every worker; a function that Ray can pickle.
        num_workers: Number of workers, one core each.
        address: Address of a cluster, see `ray.init`; by default, a cluster is started on this machine.
        gpus_per_worker: Number of GPUs, or fraction of one, per worker.

    Raises:
        ValueError: If `num_workers` is not positive or `gpus_per_worker` is negative.
        InputError: If Ray is not installed.
    """

    def __init__(
        self,
        scorer_factory: Callable[[], Scorer | ScorerGroup],
        num_workers: int = 2,
        address: str | None = None,
        gpus_per_worker: float = 0.0,
    ) -> None:
        if num_workers < 1:
            raise ValueError(f"Expected `num_workers` to be >= 1 but got {num_workers}.")
        if gpus_per_worker < 0:
            raise ValueError(f"Expected `gpus_per_worker` to be >= 0 but got {gpus_per_worker}.")
        self.scorer_factory, self.num_workers, self.address = scorer_factory, num_workers, address
        self.gpus_per_worker = gpus_per_worker
        self._ray = _import_ray()

    def __call__(self, chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        """See `ScoringBackend`."""
        chunks = iter(chunks)
        first = next(chunks, None)
        if first is None:
            return
        owns_cluster = not self._ray.is_initialized()
        if owns_cluster:
            self._connect()
        try:
            yield from self._score(itertools.chain([first], chunks))
        finally:
            if owns_cluster:
                self._ray.shutdown()

    def _connect(self) -> None:
        options = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address is None:
            memory = {"num_cpus": self.num_workers, "object_store_memory": _OBJECT_STORE_BYTES}
            self._ray.init("local", include_dashboard=False, **memory, **options)
            return
        try:
            self._ray.init(self.address, **options)
        except ConnectionError as error:
            raise InputError(f"{self.address}: Expected the address of a Ray cluster but none answers.") from error

    def _score(self, chunks: Iterator[FileChunk]) -> Iterator[ScoredChunk]:
        options = {"num_cpus": 1, "num_gpus": self.gpus_per_worker or None, "max_restarts": _MAX_RETRIES}
        actor = self._ray.remote(_Worker).options(max_task_retries=_MAX_RETRIES, **options)
        workers = [actor.remote(self.scorer_factory) for _ in range(self.num_workers)]
        running: dict[Any, tuple[FileChunk, Any]] = {}  # task → its chunk, worker
        for worker, chunk in zip(workers * 2, chunks, strict=False):
            running[worker.score.remote(chunk.pairs)] = chunk, worker
        while running:
            (task,), _ = self._ray.wait(list(running), num_returns=1)
            chunk, worker = running.pop(task)
            if (following := next(chunks, None)) is not None:
                running[worker.score.remote(following.pairs)] = following, worker
            yield chunk, self._result(task)

    def _result(self, task: Any) -> list[Scores]:
        try:
            scores: list[Scores] = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None  # the error of the scorer, as in this process
        return scores


class _Worker:
    """Holds a scorer in a process of its own."""

    def __init__(self, scorer_factory: Callable[[], Scorer | ScorerGroup]) -> None:
        self.scorers = ScorerGroup.of(scorer_factory())

    def score(self, pairs: Pairs) -> list[Scores]:
        return self.scorers.score(pairs)


def _import_ray() -> Any:
    require_packages("The Ray backend", "ray")
    import ray

    return ray
