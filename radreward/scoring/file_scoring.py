"""Score the pairs of a file: streamed, resumable, and not stopped by invalid rows.

The route: `scan_input` reads the input once for its columns and duplicate ids. `_score_missing` reads it again in
chunks, scores those that are missing, and stores each as a file in the format of the output. `_join` appends these.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint
from radreward.io.outputs import claimed_file
from radreward.io.progress import ProgressReporter
from radreward.io.tables import AtomicTableWriter, CSVFormulas, TableRow, read_rows, table_suffix
from radreward.scorers.base import PairError, Scorer, validate_pair
from radreward.scoring.backends import Chunk, LocalBackend, ScoringBackend
from radreward.scoring.input_scan import (
    DEFAULT_COLUMNS,
    DEFAULT_ID,
    InputColumns,
    InputScan,
    scan_input,
    warn_unusable_contexts,
)
from radreward.scoring.resume import ChunkStore, check_output
from radreward.scoring.score_columns import ScorerGroup
from radreward.types import Scores

REJECTS_SCHEMA = pa.schema({"file": pa.string(), "row": pa.int64(), "field": pa.string(), "reason": pa.string()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringSummary:
    """Counts and files of a scoring run."""

    rows: int
    rejected: int
    seconds: float
    output: Path
    rejects: Path | None
    """File of the rejected rows; None if no row was rejected."""
    resumed: int
    """Rows that an earlier run scored."""


def score_file(
    scorer: Scorer | ScorerGroup,
    source: str | Path,
    output: str | Path,
    chunk_size: int = 512,
    progress: bool = True,
    backend: ScoringBackend | None = None,
    columns: InputColumns = DEFAULT_COLUMNS,
    csv_formulas: CSVFormulas = "quote",
) -> ScoringSummary:
    """Score the candidate against the reference in every row of a JSONL, CSV or Parquet file.

    Writes, in the order of the input, the id, the other columns unchanged, `total` (higher is better), `quality` if the
    scorer has it, one column and one `count_<criterion>` per criterion, `evidence` as JSON if the scorer explains, and
    `status`. A row that cannot be scored has no scores and a status that says why; `<output>.rejects.jsonl` lists it.
    Columns `age` and `indication` are used if `Scorer.uses_context`; a warning counts missing and unreadable values.

    Args:
        scorer: The scorer, or several, see `load_scorers`.
        source: The input.
        output: The file to write, in the format of its suffix; it appears when it is complete.
        chunk_size: Rows that are held and scored together. Finished chunks are stored in `<output>.parts`: a run that
            was killed resumes with the missing ones.
        progress: Show progress on standard error.
        backend: Scores the chunks with a scorer equal to `scorer`; defaults to this process.
        columns: Names of the input's columns.
        csv_formulas: Quote texts like formulas in a CSV output, or keep them, see `csv_cell`.

    Raises:
        ValueError: If `chunk_size` is not positive.
        InputError: If the input cannot be read, has no row or lacks a column, a column would be written twice, the
            output cannot be a file, or the input or the scorer changed since the run that is to be resumed.
    """
    if chunk_size < 1:
        raise ValueError(f"Expected `chunk_size` to be >= 1 but got {chunk_size}.")
    start, source, output = time.monotonic(), Path(source), Path(output)
    check_output(output, source)
    with claimed_file(output):
        scan = scan_input(source, chunk_size, columns)
        scorers = _fit_references(ScorerGroup.of(scorer), scan, backend)
        schema = _output_schema(scan, scorers, source)
        inputs = {"input": file_fingerprint(source), "columns": scan.names._asdict(), "chunk size": chunk_size}
        inputs["scorer"] = scorers.fingerprint()
        store = ChunkStore(output, inputs, table_suffix(output))
        resumed = sum(size for number, size in enumerate(scan.chunk_sizes) if number in store)
        with ProgressReporter(enabled=progress) as reporter:
            task = reporter.add_task("Scoring", scan.num_rows, resumed, note=f"into {output}")
            for chunk in _score_missing(scan, store, backend or LocalBackend(scorers)):
                _write_chunk(chunk, store, scan, scorers, schema)
                reporter.advance(task, len(chunk.rows))
        rejected = _join_chunks(store, len(scan.chunk_sizes), output, schema, csv_formulas)
        store.remove()
    return ScoringSummary(
        rows=scan.num_rows,
        rejected=rejected,
        seconds=time.monotonic() - start,
        output=output,
        rejects=_rejects_path(output) if rejected else None,
        resumed=resumed,
    )


class _ScoredChunk(NamedTuple):
    """Rows of a chunk; `scores` are of those without an error, in their order."""

    number: int
    rows: list[TableRow]
    errors: list[PairError | None]
    scores: list[Scores]


class _References:
    """References of the usable rows of the input, read again by every iteration."""

    def __init__(self, scan: InputScan) -> None:
        self.scan = scan

    def __iter__(self) -> Iterator[str]:
        for row in (row for batch in read_rows(self.scan.source) for row in batch):
            if not row.error and validate_pair(*self.scan.pair(row)) is None:
                yield self.scan.pair(row)[0]


def _fit_references(scorers: ScorerGroup, scan: InputScan, backend: ScoringBackend | None) -> ScorerGroup:
    """Return the scorers for this run, with a warning about contexts; most do not read the references of the file."""
    if scorers.uses_context:
        warn_unusable_contexts(scan.source, scan.unusable_contexts)
    fitted = scorers.fit_references(_References(scan))
    if backend and fitted is not scorers:
        titles = [scorer.title for name, scorer in scorers.scorers.items() if fitted.scorers[name] is not scorer]
        raise InputError(f"{titles[0]}: needs all references of a run, which workers lack. Score in this process.")
    return fitted


def _output_schema(scan: InputScan, scorers: ScorerGroup, source: Path) -> pa.Schema:
    fields = [*scan.columns, *scorers.columns]
    if duplicates := [name for name, count in Counter(field.name for field in fields).items() if count > 1]:
        raise InputError(f"{source}: Expected no column {duplicates[0]!r}; the scorer writes it. Rename the column.")
    return pa.schema(fields)


def _score_missing(scan: InputScan, store: ChunkStore, backend: ScoringBackend) -> Iterator[_ScoredChunk]:
    """Read the input again and score each chunk that the store lacks; in memory are those the backend works on."""
    waiting: dict[int, tuple[list[TableRow], list[PairError | None]]] = {}

    def missing_chunks() -> Iterator[Chunk]:
        for number, rows in enumerate(read_rows(scan.source, scan.chunk_size)):
            if number not in store:
                errors = [scan.find_error(row) for row in rows]
                waiting[number] = rows, errors
                valid = [row for row, error in zip(rows, errors, strict=True) if error is None]
                pairs = [scan.pair(row) for row in valid]
                references, candidates = ([pair[side] for pair in pairs] for side in (0, 1))
                yield Chunk(number, references, candidates, scan.contexts(valid))

    for number, scores in backend(missing_chunks()):
        rows, errors = waiting.pop(number)
        yield _ScoredChunk(number, rows, errors, scores)


def _write_chunk(
    chunk: _ScoredChunk, store: ChunkStore, scan: InputScan, scorers: ScorerGroup, schema: pa.Schema
) -> None:
    """Store a chunk as rows of the output, with its rejected rows."""
    scored = scorers.rows(chunk.scores)
    rows, rejects = [], []
    for row, error in zip(chunk.rows, chunk.errors, strict=True):
        if error is None:
            values, reason = next(scored)
            field = "reference" if "reference" in (reason or "") else "candidate"
        else:
            values, (field, reason) = scorers.unscored(error.reason), error
        if reason is not None:
            column = {"reference": scan.names.reference, "candidate": scan.names.candidate}.get(field, field)
            rejects.append({"file": str(scan.source), "row": row.number, "field": column or None, "reason": reason})
        rows.append({**_copy_values(row, scan, plain=store.suffix != ".parquet"), **values})
    store.write(chunk.number, schema, rows, rejects)


def _copy_values(row: TableRow, scan: InputScan, plain: bool) -> dict[str, Any]:
    """Return the copied values of a row as their columns hold them.

    Values other than text in a column of texts become JSON, and invalid UTF-8 becomes "?". `plain` turns dates and
    the like into text, for formats without such types.
    """
    copied = {}
    for name, kind in zip(scan.columns.names, scan.columns.types, strict=True):
        is_numbered = scan.names.id is None and name == DEFAULT_ID
        value = row.number if is_numbered else row.values.get(name)
        if value is not None and kind == pa.string():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            value = text.encode(errors="replace").decode()
        elif isinstance(value, int) and kind == pa.float64():
            value = float(value)
        elif plain and not isinstance(value, str | int | float | None):
            value = json.loads(json.dumps(value, default=str))
        copied[name] = value
    return copied


def _join_chunks(store: ChunkStore, num_chunks: int, output: Path, schema: pa.Schema, csv_formulas: CSVFormulas) -> int:
    """Append all chunks to the output, and all rejected rows, if any, to their file; return the number of these."""
    rejected = 0
    with ExitStack() as stack:
        writer = stack.enter_context(AtomicTableWriter(output, schema, csv_formulas))
        for number in range(num_chunks):
            path, rejects = store.read(number)
            writer.append_file(path)
            if rejects and not rejected:
                rejects_writer = stack.enter_context(AtomicTableWriter(_rejects_path(output), REJECTS_SCHEMA))
            if rejects:
                rejects_writer.write(rejects)
            rejected += len(rejects)
    if not rejected:
        _rejects_path(output).unlink(missing_ok=True)  # of an earlier run
    return rejected


def _rejects_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.rejects.jsonl")
