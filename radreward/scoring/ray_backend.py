"""Scoring on several machines, through Ray Data."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from radreward.errors import InputError
from radreward.scorers.base import PairError, Scorer
from radreward.scoring.chunks import Chunk, ScoringRow, score_to_jsonl

OBJECT_STORE_BYTES = 512 * 2**20
"""Bytes that a cluster on this machine shares between its processes: a few chunks of texts and their scores."""

ROWS_TYPE = pa.list_(pa.struct([(name, pa.string()) for name in ("reference", "candidate", "field", "reason")]))
CHUNK_SCHEMA = pa.schema([("number", pa.int64()), ("entries", ROWS_TYPE)])


class RayBackend:
    """Scores chunks in workers of a Ray cluster; see `ScoringBackend`.

    Each worker, an actor of a Ray Data pool, makes its own scorer and reads its chunks from Parquet files, laid down in
    the folder of the parts, which all machines have to see. What a worker that died had begun is done again.

    Args:
        make: Makes the scorer, in every worker; a function that Ray can send there.
        workers: How many workers, one core each.
        address: Of a cluster, as `ray.init` takes it; where none is given, one is started on this machine.
        gpus: GPUs, or the share of one, that each worker holds.

    Raises:
        ValueError: If `workers` is not positive or `gpus` is negative.
        InputError: If Ray is not installed.
    """

    def __init__(
        self,
        scorer_factory: Callable[[], Scorer],
        num_workers: int = 2,
        address: str | None = None,
        gpus_per_worker: float = 0.0,
    ) -> None:
        if num_workers < 1:
            raise ValueError(f"Expected `workers` to be >= 1 but got {num_workers}.")
        if gpus_per_worker < 0:
            raise ValueError(f"Expected `gpus` to be >= 0 but got {gpus_per_worker}.")
        self.scorer_factory, self.num_workers, self.address, self.gpus_per_worker = (
            scorer_factory,
            num_workers,
            address,
            gpus_per_worker,
        )
        self._ray = _import_ray()

    def __call__(self, chunks: Iterable[Chunk], folder: Path) -> Iterator[tuple[int, str]]:
        """See `ScoringBackend`."""
        staged = _write_chunk_files(chunks, folder.resolve() / "chunks")
        if not staged:
            return
        with _Cluster(self._ray, self.address, self.num_workers) as data:
            files = data.from_items([{"file": str(path)} for path in staged], override_num_blocks=len(staged))
            scored = files.map_batches(
                _Worker,
                fn_constructor_args=(self.scorer_factory,),
                batch_size=1,
                batch_format="pyarrow",
                compute=data.ActorPoolStrategy(size=self.num_workers),
                num_cpus=1,
                num_gpus=self.gpus_per_worker or None,
            )
            for row in scored.iter_rows():
                yield int(row["number"]), str(row["lines"])


class _Worker:
    """Holds a scorer in a process of its own."""

    def __init__(self, scorer_factory: Callable[[], Scorer]) -> None:
        self.scorer = scorer_factory()

    def __call__(self, batch: pa.Table) -> pa.Table:
        (chunk,) = pq.read_table(batch["file"][0].as_py(), schema=CHUNK_SCHEMA).to_pylist()
        entries = [_row_from_dict(**row) for row in chunk["entries"]]
        return pa.table({"number": [chunk["number"]], "lines": [score_to_jsonl(self.scorer, entries)]})


class _Cluster:
    """Ray while it is needed: the cluster of an address, the one that is connected already, or one of our own."""

    def __init__(self, ray: Any, address: str | None, num_workers: int) -> None:
        self.ray, self.address, self.num_workers = ray, address, num_workers
        self.owns_cluster = not ray.is_initialized()

    def __enter__(self) -> Any:
        if self.owns_cluster and self.address is None:
            settings = {
                "num_cpus": self.num_workers,
                "object_store_memory": OBJECT_STORE_BYTES,
                "include_dashboard": False,
            }
            self.ray.init("local", log_to_driver=False, logging_level=logging.ERROR, **settings)
        elif self.owns_cluster:
            try:
                self.ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR)
            except ConnectionError as error:
                raise InputError(f"{self.address}: Expected the address of a Ray cluster but none answers.") from error
        context = self.ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        return self.ray.data

    def __exit__(self, *_: object) -> None:
        if self.owns_cluster:
            self.ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise InputError(
            "The engine ray needs a package that is not installed: pip install 'radreward[distributed]'."
        ) from error
    return ray


def _write_chunk_files(chunks: Iterable[Chunk], folder: Path) -> list[Path]:
    """A file for each chunk; what an earlier run laid down is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    staged = []
    for number, entries in chunks:
        path = folder / f"{number:08d}.parquet"
        rows = [_row_to_dict(entry) for entry in entries]
        pq.write_table(pa.Table.from_pylist([{"number": number, "entries": rows}], schema=CHUNK_SCHEMA), path)
        staged.append(path)
    return staged


def _row_to_dict(entry: ScoringRow) -> dict[str, str | None]:
    field, reason = entry.error or (None, None)
    return {"reference": entry.reference, "candidate": entry.candidate, "field": field, "reason": reason}


def _row_from_dict(reference: str, candidate: str, field: str | None, reason: str | None) -> ScoringRow:
    return ScoringRow(reference, candidate, None if field is None or reason is None else PairError(field, reason))
