"""Scores of the pairs in a file: streamed, resumable, a bad row stops nothing."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from radreward.data.records import file_fingerprint
from radreward.errors import InputError
from radreward.io.progress import ProgressReporter
from radreward.io.tables import AtomicTableWriter, read_rows, table_suffix
from radreward.scorers.base import Scorer, validate_pair
from radreward.scoring.chunks import Chunk, LocalBackend, ScoringBackend, hash64, to_scoring_row
from radreward.scoring.resume import ChunkStore, check_output

REQUIRED_COLUMNS = ("id", "reference", "candidate")
_ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


class ScoringSummary(NamedTuple):
    """What a scoring run did."""

    rows: int
    rejected: int
    seconds: float
    output: Path
    rejects: Path | None
    """The side file, or None where no row was rejected."""
    resumed: int
    """Rows that an earlier run had scored."""


class _InputSchema(NamedTuple):
    """What a first look at the input found."""

    num_rows: int
    id_type: pa.DataType
    extra_columns: pa.Schema
    duplicate_hashes: frozenset[int]
    """Hashes of ids that stand in more than one row."""


def score_file(
    scorer: Scorer,
    source: str | Path,
    output: str | Path,
    chunk_size: int = 512,
    progress: bool = True,
    backend: ScoringBackend | None = None,
) -> ScoringSummary:
    """Score `reference` against `candidate` in every row of JSONL, CSV or Parquet.

    Writes `id`, the other columns as they are, `total` (higher is better), a column per criterion, its
    `count_<criterion>`, of a scorer that explains its `evidence` as JSON, and `status`, in the order of the input.
    Rows that cannot be scored have no scores, a status that says why, and stand in `<output>.rejects.jsonl` with file,
    row, field and reason.

    Args:
        scorer: What scores.
        source: The input.
        output: The file to write; its name says the format. It appears when it is complete.
        chunk: Rows that are held and scored together. Scores of a finished chunk are kept in `<output>.parts` until
            the end: a run that was killed goes on with the chunks that are missing.
        progress: Show on the standard error how far it is.
        engine: Where the chunks are scored, by a scorer equal to `scorer`; in this process where none is given.

    Raises:
        ValueError: If `chunk` is not positive.
        InputError: If the input cannot be read, has no row or lacks a column, a column would be written twice, the
            output cannot be a file, or input or scorer changed since the run that is to be resumed.
    """
    if chunk_size < 1:
        raise ValueError(f"Expected `chunk` to be >= 1 but got {chunk_size}.")
    start, source, output = time.monotonic(), Path(source), Path(output)
    check_output(output, source)
    survey = _scan_input(source, chunk_size)
    fitted = scorer.fit_references(_iter_references(source))
    if backend and fitted is not scorer:
        raise InputError(f"{scorer.title}: needs all references of a run, which workers do not have; score it here.")
    scorer = fitted
    schema = _output_schema(survey, scorer, source)
    parts = ChunkStore(output, {"input": file_fingerprint(source), "scorer": scorer.fingerprint(), "chunk": chunk_size})
    sizes = [min(chunk_size, survey.num_rows - begin) for begin in range(0, survey.num_rows, chunk_size)]
    resumed = sum(size for number, size in enumerate(sizes) if number in parts)
    with ProgressReporter(survey.num_rows, output, resumed, progress) as told:
        for number, text in (backend or LocalBackend(scorer))(
            _missing_chunks(source, chunk_size, survey, parts), parts.folder
        ):
            parts.write(number, text)
            told.advance(sizes[number])
    rejects = output.with_name(f"{output.name}.rejects.jsonl")
    rejected = _write_output(scorer, source, output, rejects, schema, parts, chunk_size)
    parts.remove()
    seconds = time.monotonic() - start
    return ScoringSummary(survey.num_rows, rejected, seconds, output, rejects if rejected else None, resumed)


def _scan_input(source: Path, chunk_size: int) -> _InputSchema:
    kinds: dict[str, set[type]] = {}
    hashes: list[np.ndarray] = []
    broken: str | None = None
    usable = False
    for batch in read_rows(source, chunk_size):
        for row in batch:
            usable = usable or row.error is None
            broken = broken or row.error
            for name, value in row.values.items():
                kinds.setdefault(name, set()).update(() if value is None else (_value_type(value),))
        hashes.append(np.array([hash64(row.values.get("id")) for row in batch], dtype=np.uint64))
    rows = sum(map(len, hashes))
    if not rows:
        raise InputError(f"{source}: Expected at least one row but there is none.")
    if not usable:
        raise InputError(f"{source}: Expected at least one row that can be read but there is none; row 1: {broken}.")
    if missing := [name for name in REQUIRED_COLUMNS if name not in kinds]:
        raise InputError(f"{source}: Expected a column {missing[0]!r}; there are {', '.join(kinds) or 'none'}.")
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    given = pq.read_schema(source) if table_suffix(source) == ".parquet" else None
    names = [name for name in kinds if name not in REQUIRED_COLUMNS]
    fields = [(name, given.field(name).type if given else _arrow_type(kinds[name])) for name in names]
    id_type = pa.int64() if kinds["id"] == {int} else pa.string()
    return _InputSchema(rows, id_type, pa.schema(fields), frozenset(values[counts > 1].tolist()))


def _iter_references(source: Path) -> Iterator[str]:
    """The references of all rows that can be scored."""
    for batch in read_rows(source):
        for row in batch:
            reference = row.values.get("reference")
            if not row.error and validate_pair(reference, row.values.get("candidate")) is None:
                yield str(reference)


def _value_type(value: Any) -> type:
    """The type of a value; an integer that no column of integers holds counts as text."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _arrow_type(kinds: set[type]) -> pa.DataType:
    if kinds == {int, float}:
        return pa.float64()
    return _ARROW_TYPES.get(next(iter(kinds)), pa.string()) if len(kinds) == 1 else pa.string()


def _score_columns(scorer: Scorer) -> list[str]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return ["total", *scorer.sub_names, *(f"count_{tag}" for tag in tags)]


def _text_columns(scorer: Scorer) -> list[str]:
    return ["evidence", "status"] if scorer.returns_explanations else ["status"]


def _output_schema(survey: _InputSchema, scorer: Scorer, source: Path) -> pa.Schema:
    fields = [("id", survey.id_type), *zip(survey.extra_columns.names, survey.extra_columns.types, strict=True)]
    told = [(name, pa.string()) for name in _text_columns(scorer)]
    fields += [*((name, pa.float32()) for name in _score_columns(scorer)), *told]
    if twice := [name for name, count in Counter(name for name, _ in fields).items() if count > 1]:
        raise InputError(f"{source}: Expected no column {twice[0]!r}, which the output gets from the scorer.")
    return pa.schema(fields)


def _missing_chunks(source: Path, chunk: int, survey: _InputSchema, parts: ChunkStore) -> Iterator[Chunk]:
    """The chunks whose parts are missing, one at a time."""
    first: dict[str, int] = {}
    for number, batch in enumerate(read_rows(source, chunk)):
        entries = [to_scoring_row(row, survey.duplicate_hashes, first) for row in batch]
        if number not in parts:
            yield Chunk(number, entries)


def _write_output(
    scorer: Scorer, source: Path, output: Path, rejects: Path, schema: pa.Schema, parts: ChunkStore, chunk: int
) -> int:
    """Join input and parts; the number of rejected rows."""
    names, told, rejected, plain = _score_columns(scorer), _text_columns(scorer), 0, table_suffix(output) != ".parquet"
    reject_schema = pa.schema(
        [("file", pa.string()), ("row", pa.int64()), ("field", pa.string()), ("reason", pa.string())]
    )
    with AtomicTableWriter(rejects, reject_schema) as side, AtomicTableWriter(output, schema) as writer:
        for number, batch in enumerate(read_rows(source, chunk)):
            rows = []
            bad = []
            for row, (status, field, values, *shown) in zip(batch, parts.read(number), strict=True):
                scores = dict(zip(names, values or [None] * len(names), strict=True))
                carried = {name: row.values.get(name) for name in schema.names[1 : -len(names) - len(told)]}
                texts = {"id": row.values.get("id"), **carried}
                said = dict(
                    zip(told, (*(shown or [None]), status) if scorer.returns_explanations else (status,), strict=True)
                )
                rows.append({**_coerce(texts, schema, plain), **scores, **said})
                if field is not None:
                    bad.append({"file": str(source), "row": row.number, "field": field or None, "reason": status})
            writer.write(rows)
            side.write(bad)
            rejected += len(bad)
    if not rejected:
        rejects.unlink()
    return rejected


def _coerce(values: dict[str, Any], schema: pa.Schema, plain: bool) -> dict[str, Any]:
    """Values as their columns hold them.

    What is no text in a column of texts is JSON; broken UTF-8 becomes '?'; `plain` makes texts of dates and the like.
    """
    fitted = {}
    for name, value in values.items():
        kind = schema.field(name).type
        if value is not None and kind == pa.string():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            value = text.encode(errors="replace").decode()
        elif isinstance(value, int) and kind == pa.float64():
            value = float(value)
        elif plain and not isinstance(value, str | int | float | None):
            value = json.loads(json.dumps(value, default=str))
        fitted[name] = value
    return fitted
