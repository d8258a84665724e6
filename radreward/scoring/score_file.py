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

from radreward.data.records import fingerprint
from radreward.errors import InputError
from radreward.io.progress import RowProgress
from radreward.io.tables import TableWriter, extension, read_rows
from radreward.scorers.base import Scorer, problem
from radreward.scoring.chunks import Chunk, Engine, Here, digest, entry
from radreward.scoring.resume import Parts, check_output

COLUMNS = ("id", "reference", "candidate")
_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


class Summary(NamedTuple):
    """What a scoring run did."""

    rows: int
    rejected: int
    seconds: float
    output: Path
    rejects: Path | None
    """The side file, or None where no row was rejected."""
    resumed: int
    """Rows that an earlier run had scored."""


class _Survey(NamedTuple):
    """What a first look at the input found."""

    rows: int
    id: pa.DataType
    carried: pa.Schema
    repeated: frozenset[int]
    """Hashes of ids that stand in more than one row."""


def score_file(
    scorer: Scorer,
    source: str | Path,
    output: str | Path,
    chunk: int = 512,
    progress: bool = True,
    engine: Engine | None = None,
) -> Summary:
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
    if chunk < 1:
        raise ValueError(f"Expected `chunk` to be >= 1 but got {chunk}.")
    start, source, output = time.monotonic(), Path(source), Path(output)
    check_output(output, source)
    survey = _survey(source, chunk)
    fitted = scorer.for_run(_references(source))
    if engine and fitted is not scorer:
        raise InputError(f"{scorer.title}: needs all references of a run, which workers do not have; score it here.")
    scorer = fitted
    schema = _schema(survey, scorer, source)
    parts = Parts(output, {"input": fingerprint(source), "scorer": scorer.fingerprint(), "chunk": chunk})
    sizes = [min(chunk, survey.rows - begin) for begin in range(0, survey.rows, chunk)]
    resumed = sum(size for number, size in enumerate(sizes) if number in parts)
    with RowProgress(survey.rows, output, resumed, progress) as told:
        for number, text in (engine or Here(scorer))(_unscored(source, chunk, survey, parts), parts.folder):
            parts.put(number, text)
            told.advance(sizes[number])
    rejects = output.with_name(f"{output.name}.rejects.jsonl")
    rejected = _write(scorer, source, output, rejects, schema, parts, chunk)
    parts.remove()
    seconds = time.monotonic() - start
    return Summary(survey.rows, rejected, seconds, output, rejects if rejected else None, resumed)


def _survey(source: Path, chunk: int) -> _Survey:
    kinds: dict[str, set[type]] = {}
    hashes: list[np.ndarray] = []
    broken: str | None = None
    usable = False
    for batch in read_rows(source, chunk):
        for row in batch:
            usable = usable or row.problem is None
            broken = broken or row.problem
            for name, value in row.values.items():
                kinds.setdefault(name, set()).update(() if value is None else (_kind(value),))
        hashes.append(np.array([digest(row.values.get("id")) for row in batch], dtype=np.uint64))
    rows = sum(map(len, hashes))
    if not rows:
        raise InputError(f"{source}: Expected at least one row but there is none.")
    if not usable:
        raise InputError(f"{source}: Expected at least one row that can be read but there is none; row 1: {broken}.")
    if missing := [name for name in COLUMNS if name not in kinds]:
        raise InputError(f"{source}: Expected a column {missing[0]!r}; there are {', '.join(kinds) or 'none'}.")
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    given = pq.read_schema(source) if extension(source) == ".parquet" else None
    names = [name for name in kinds if name not in COLUMNS]
    fields = [(name, given.field(name).type if given else _type(kinds[name])) for name in names]
    id_type = pa.int64() if kinds["id"] == {int} else pa.string()
    return _Survey(rows, id_type, pa.schema(fields), frozenset(values[counts > 1].tolist()))


def _references(source: Path) -> Iterator[str]:
    """The references of all rows that can be scored."""
    for batch in read_rows(source):
        for row in batch:
            reference = row.values.get("reference")
            if not row.problem and problem(reference, row.values.get("candidate")) is None:
                yield str(reference)


def _kind(value: Any) -> type:
    """The type of a value; an integer that no column of integers holds counts as text."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _type(kinds: set[type]) -> pa.DataType:
    if kinds == {int, float}:
        return pa.float64()
    return _TYPES.get(next(iter(kinds)), pa.string()) if len(kinds) == 1 else pa.string()


def _score_names(scorer: Scorer) -> list[str]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return ["total", *scorer.sub_names, *(f"count_{tag}" for tag in tags)]


def _told_names(scorer: Scorer) -> list[str]:
    return ["evidence", "status"] if scorer.explains else ["status"]


def _schema(survey: _Survey, scorer: Scorer, source: Path) -> pa.Schema:
    fields = [("id", survey.id), *zip(survey.carried.names, survey.carried.types, strict=True)]
    told = [(name, pa.string()) for name in _told_names(scorer)]
    fields += [*((name, pa.float32()) for name in _score_names(scorer)), *told]
    if twice := [name for name, count in Counter(name for name, _ in fields).items() if count > 1]:
        raise InputError(f"{source}: Expected no column {twice[0]!r}, which the output gets from the scorer.")
    return pa.schema(fields)


def _unscored(source: Path, chunk: int, survey: _Survey, parts: Parts) -> Iterator[Chunk]:
    """The chunks whose parts are missing, one at a time."""
    first: dict[str, int] = {}
    for number, batch in enumerate(read_rows(source, chunk)):
        entries = [entry(row, survey.repeated, first) for row in batch]
        if number not in parts:
            yield Chunk(number, entries)


def _write(
    scorer: Scorer, source: Path, output: Path, rejects: Path, schema: pa.Schema, parts: Parts, chunk: int
) -> int:
    """Join input and parts; the number of rejected rows."""
    names, told, rejected, plain = _score_names(scorer), _told_names(scorer), 0, extension(output) != ".parquet"
    reject_schema = pa.schema(
        [("file", pa.string()), ("row", pa.int64()), ("field", pa.string()), ("reason", pa.string())]
    )
    with TableWriter(rejects, reject_schema) as side, TableWriter(output, schema) as writer:
        for number, batch in enumerate(read_rows(source, chunk)):
            rows = []
            bad = []
            for row, (status, field, values, *shown) in zip(batch, parts.lines(number), strict=True):
                scores = dict(zip(names, values or [None] * len(names), strict=True))
                carried = {name: row.values.get(name) for name in schema.names[1 : -len(names) - len(told)]}
                texts = {"id": row.values.get("id"), **carried}
                said = dict(zip(told, (*(shown or [None]), status) if scorer.explains else (status,), strict=True))
                rows.append({**_fitted(texts, schema, plain), **scores, **said})
                if field is not None:
                    bad.append({"file": str(source), "row": row.number, "field": field or None, "reason": status})
            writer.write(rows)
            side.write(bad)
            rejected += len(bad)
    if not rejected:
        rejects.unlink()
    return rejected


def _fitted(values: dict[str, Any], schema: pa.Schema, plain: bool) -> dict[str, Any]:
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
