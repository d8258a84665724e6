"""Scores of the pairs in a file: streamed, resumable, a bad row stops nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from radreward.data.records import fingerprint
from radreward.data.tables import Row, TableWriter, extension, read_rows
from radreward.errors import InputError
from radreward.scorers.base import SCORED, Problem, Scorer, problem

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
    scorer: Scorer, source: str | Path, output: str | Path, chunk: int = 512, progress: bool = True
) -> Summary:
    """Score `reference` against `candidate` in every row of JSONL, CSV or Parquet.

    Writes `id`, the other columns as they are, `total` (higher is better), a column per criterion, its
    `count_<criterion>`, and `status`, in the order of the input. Rows that cannot be scored have no scores, a status
    that says why, and stand in `<output>.rejects.jsonl` with file, row, field and reason.

    Args:
        scorer: What scores.
        source: The input.
        output: The file to write; its name says the format. It appears when it is complete.
        chunk: Rows that are held and scored together. Scores of a finished chunk are kept in `<output>.parts` until
            the end: a run that was killed goes on with the chunk it was in.
        progress: Show a bar on the standard error.

    Raises:
        ValueError: If `chunk` is not positive.
        InputError: If the input cannot be read, has no row or lacks a column, a column would be written twice, or
            input or scorer changed since the run that is to be resumed.
    """
    if chunk < 1:
        raise ValueError(f"Expected `chunk` to be >= 1 but got {chunk}.")
    start, source, output = time.monotonic(), Path(source), Path(output)
    extension(output)
    if output.resolve() == source.resolve():
        raise InputError(f"{output}: Expected an output that is not the input.")
    survey = _survey(source, chunk)
    schema = _schema(survey, scorer, source)
    parts = output.with_name(f"{output.name}.parts")
    done = _resume(parts, {"input": fingerprint(source), "scorer": scorer.fingerprint(), "chunk": chunk})
    _score_parts(scorer, source, chunk, survey, parts, done, progress)
    rejects = output.with_name(f"{output.name}.rejects.jsonl")
    rejected = _write(scorer, source, output, rejects, schema, parts, chunk)
    shutil.rmtree(parts)
    resumed = min(done * chunk, survey.rows)
    seconds = time.monotonic() - start
    return Summary(survey.rows, rejected, seconds, output, rejects if rejected else None, resumed)


def _survey(source: Path, chunk: int) -> _Survey:
    kinds: dict[str, set[type]] = {}
    hashes: list[np.ndarray] = []
    for batch in read_rows(source, chunk):
        for row in batch:
            for name, value in row.values.items():
                kinds.setdefault(name, set()).update(() if value is None else (_kind(value),))
        hashes.append(np.array([_hash(row.values.get("id")) for row in batch], dtype=np.uint64))
    rows = sum(map(len, hashes))
    if not rows:
        raise InputError(f"{source}: Expected at least one row but there is none.")
    if missing := [name for name in COLUMNS if name not in kinds]:
        raise InputError(f"{source}: Expected a column {missing[0]!r}; there are {', '.join(kinds) or 'none'}.")
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    given = pq.read_schema(source) if extension(source) == ".parquet" else None
    names = [name for name in kinds if name not in COLUMNS]
    fields = [(name, given.field(name).type if given else _type(kinds[name])) for name in names]
    id_type = pa.int64() if kinds["id"] == {int} else pa.string()
    return _Survey(rows, id_type, pa.schema(fields), frozenset(values[counts > 1].tolist()))


def _kind(value: Any) -> type:
    """The type of a value; an integer that no column of integers holds counts as text."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _type(kinds: set[type]) -> pa.DataType:
    if kinds == {int, float}:
        return pa.float64()
    return _TYPES.get(next(iter(kinds)), pa.string()) if len(kinds) == 1 else pa.string()


def _hash(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(str(value).encode(errors="replace"), digest_size=8).digest(), "little")


def _score_names(scorer: Scorer) -> list[str]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return ["total", *scorer.sub_names, *(f"count_{tag}" for tag in tags)]


def _schema(survey: _Survey, scorer: Scorer, source: Path) -> pa.Schema:
    fields = [("id", survey.id), *zip(survey.carried.names, survey.carried.types, strict=True)]
    fields += [*((name, pa.float32()) for name in _score_names(scorer)), ("status", pa.string())]
    if twice := [name for name, count in Counter(name for name, _ in fields).items() if count > 1]:
        raise InputError(f"{source}: Expected no column {twice[0]!r}, which the output gets from the scorer.")
    return pa.schema(fields)


def _resume(parts: Path, manifest: dict[str, Any]) -> int:
    """How many parts are there already."""
    path = parts / "manifest.json"
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        if changed := [key for key in manifest if before.get(key) != manifest[key]]:
            raise InputError(
                f"{parts}: the {changed[0]} changed since the run that began here; delete the folder to start anew."
            )
    else:
        parts.mkdir(parents=True, exist_ok=True)
        _replace(path, json.dumps(manifest))
    done = 0
    while _part(parts, done).is_file():
        done += 1
    return done


def _part(parts: Path, number: int) -> Path:
    return parts / f"{number:08d}.jsonl"


def _replace(path: Path, text: str) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def _score_parts(
    scorer: Scorer, source: Path, chunk: int, survey: _Survey, parts: Path, done: int, progress: bool
) -> None:
    first: dict[str, int] = {}
    speed = TextColumn("{task.fields[speed]} rows/s")
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bar:
        task = bar.add_task("scoring", total=survey.rows, speed="-")
        began, scored = time.monotonic(), 0
        for number, batch in enumerate(read_rows(source, chunk)):
            problems = [_problem(row, survey.repeated, first) for row in batch]
            if number >= done:
                _replace(_part(parts, number), _part_text(scorer, batch, problems))
                scored += len(batch)
            bar.update(task, advance=len(batch), speed=f"{scored / (time.monotonic() - began):.1f}")


def _problem(row: Row, repeated: frozenset[int], first: dict[str, int]) -> Problem | None:
    if row.problem:
        return Problem("", row.problem)
    name = row.values.get("id")
    if name is None or name != name or (isinstance(name, str) and not name.strip()):
        return Problem("id", "missing id")
    if not isinstance(name, str | int) or isinstance(name, bool):
        return Problem("id", f"expected a text or an integer as id but got {type(name).__name__}")
    if _hash(name) in repeated:
        before = first.setdefault(str(name), row.number)
        if before != row.number:
            return Problem("id", f"duplicate id, first in row {before}")
    return problem(row.values.get("reference"), row.values.get("candidate"))


def _part_text(scorer: Scorer, batch: list[Row], problems: list[Problem | None]) -> str:
    good = [row.values for row, found in zip(batch, problems, strict=True) if found is None]
    scores = scorer.score([values["reference"] for values in good], [values["candidate"] for values in good])
    sign = 1 if scorer.higher_is_better else -1
    columns = [(sign * scores.total).unsqueeze(1).tolist()]
    widths = len(scorer.sub_names), len(scorer.criteria) if scorer.criteria else 0
    for values, width in zip((scores.sub, scores.counts), widths, strict=True):
        columns.append([[None] * width] * len(good) if values is None else values.tolist())
    rows = iter(zip(scores.status, *columns, strict=True))
    lines: list[list[Any]] = []
    for found in problems:
        if found is not None:
            lines.append([found.reason, found.field, None])
            continue
        status, *scored = next(rows)
        if status in SCORED:
            lines.append([status, None, [None if number != number else number for part in scored for number in part]])
        else:
            lines.append([status, "reference" if "reference" in status else "candidate", None])
    return "".join(json.dumps(line) + "\n" for line in lines)


def _write(
    scorer: Scorer, source: Path, output: Path, rejects: Path, schema: pa.Schema, parts: Path, chunk: int
) -> int:
    """Join input and parts; the number of rejected rows."""
    names, rejected, plain = _score_names(scorer), 0, extension(output) != ".parquet"
    reject_schema = pa.schema(
        [("file", pa.string()), ("row", pa.int64()), ("field", pa.string()), ("reason", pa.string())]
    )
    with TableWriter(rejects, reject_schema) as side, TableWriter(output, schema) as writer:
        for number, batch in enumerate(read_rows(source, chunk)):
            with _part(parts, number).open(encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            rows = []
            bad = []
            for row, (status, field, values) in zip(batch, lines, strict=True):
                scores = dict(zip(names, values or [None] * len(names), strict=True))
                carried = {name: row.values.get(name) for name in schema.names[1 : -1 - len(names)]}
                texts = {"id": row.values.get("id"), **carried}
                rows.append({**_fitted(texts, schema, plain), **scores, "status": status})
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
