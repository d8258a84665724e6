"""A file to score, read twice: for its columns and duplicate ids, and in chunks of checked rows."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from radreward.errors import InputError
from radreward.io.input_files import table_format
from radreward.io.parquet_files import parquet_schema
from radreward.io.tables import TableRow, read_rows
from radreward.scorers.pair_errors import PairError, validate_pair
from radreward.scoring.input_columns import DEFAULT_COLUMNS, InputColumns
from radreward.scoring.pairs import Pairs
from radreward.text.patient_context import CONTEXT_COLUMNS, PatientContext, parse_context

logger = logging.getLogger(__name__)

_DEFAULT_ID = "id"
_ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


class CheckedRow(NamedTuple):
    """A row of the input after all checks."""

    number: int
    """From 1."""
    copied: dict[str, Any]
    """Values that are copied to the output, see `InputScan.columns`."""
    error: PairError | None
    """Reason why the row cannot be scored, or None."""


class FileChunk(NamedTuple):
    """Consecutive rows of the input, scored together."""

    number: int
    """Index of the chunk in the file, from 0."""
    rows: list[CheckedRow]
    pairs: Pairs
    """Pairs of the rows without an error, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputScan:
    """Result of the first pass over the input."""

    source: Path
    chunk_size: int
    row_numbers: np.ndarray
    """(num_rows,) int64: the number of each row, in ascending order."""
    names: InputColumns
    columns: pa.Schema
    """Columns that are copied to the output: the id, then all columns except reference and candidate."""
    first_rows: np.ndarray
    """(num_rows,) int64: for each row, the number of the first row with its id."""
    unusable_contexts: Mapping[str, int]
    """Each context column of the file → number of rows in which its value is missing or unreadable."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_numbers)

    @property
    def chunk_sizes(self) -> list[int]:
        """Number of rows of each chunk."""
        return [min(self.chunk_size, self.num_rows - start) for start in range(0, self.num_rows, self.chunk_size)]

    def chunks(self, skip: Container[int] = ()) -> Iterator[FileChunk]:
        """Read the file again and yield its chunks, one in memory at a time, without the indices in `skip`."""
        for number, rows in enumerate(read_rows(self.source, self.chunk_size)):
            if number not in skip:
                checked = [CheckedRow(row.number, self._copy_values(row), self.find_error(row)) for row in rows]
                valid = [row for row, check in zip(rows, checked, strict=True) if check.error is None]
                references = [row.values[self.names.reference] for row in valid]
                candidates = [row.values[self.names.candidate] for row in valid]
                yield FileChunk(number, checked, Pairs(references, candidates, self._contexts(valid)))

    def references(self) -> Iterable[str]:
        """Return the references of all usable pairs; every iteration reads the file."""
        return _References(self)

    def find_error(self, row: TableRow) -> PairError | None:
        """Return the reason why a row cannot be scored, or None."""
        if row.error:
            return PairError(None, row.error)
        if self.names.id and (reason := _id_error(row.values.get(self.names.id))):
            return PairError(self.names.id, reason)
        if self.names.id and (first := self._first_row(row.number)) != row.number:
            return PairError(self.names.id, f"duplicate id, first in row {first}")
        return validate_pair(*self.pair(row))

    def pair(self, row: TableRow) -> tuple[Any, Any]:
        """Return reference and candidate of a row, None if missing."""
        return row.values.get(self.names.reference), row.values.get(self.names.candidate)

    def column_of(self, field: str | None) -> str | None:
        """Return the column of a field of a `PairError`."""
        return {"reference": self.names.reference, "candidate": self.names.candidate}.get(field or "", field)

    def _first_row(self, number: int) -> int:
        """Return the number of the first row with the id of a row."""
        return int(self.first_rows[np.searchsorted(self.row_numbers, number)])

    def _contexts(self, rows: Iterable[TableRow]) -> list[PatientContext] | None:
        """Return age and indication of each patient, or None if the file has neither column."""
        return [parse_context(row.values) for row in rows] if self.unusable_contexts else None

    def _copy_values(self, row: TableRow) -> dict[str, Any]:
        """Return the copied values of a row; in a column of texts, other values become JSON, and invalid UTF-8 "?"."""
        copied = {}
        for name, kind in zip(self.columns.names, self.columns.types, strict=True):
            is_numbered = self.names.id is None and name == _DEFAULT_ID
            value = row.number if is_numbered else row.values.get(name)
            if value is not None and kind == pa.string():
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                value = text.encode(errors="replace").decode()
            elif isinstance(value, int) and kind == pa.float64():
                value = float(value)
            copied[name] = value
        return copied


class _References:
    """References of the usable pairs of the input."""

    def __init__(self, scan: InputScan) -> None:
        self.scan = scan

    def __iter__(self) -> Iterator[str]:
        for row in (row for rows in read_rows(self.scan.source) for row in rows):
            if not row.error and validate_pair(*self.scan.pair(row)) is None:
                yield self.scan.pair(row)[0]


def scan_input(source: Path, chunk_size: int, names: InputColumns = DEFAULT_COLUMNS) -> InputScan:
    """Read a file once, with 16 bytes of memory per row.

    Raises:
        InputError: If the file cannot be read, has no readable row, or lacks a required column.
    """
    types: dict[str, set[type]] = {}
    hashes: list[np.ndarray] = []
    numbers: list[np.ndarray] = []
    first_error: str | None = None
    any_readable = False
    usable_contexts: Counter[str] = Counter()
    for rows in read_rows(source, chunk_size):
        for row in rows:
            any_readable = any_readable or row.error is None
            first_error = first_error or f"row {row.number}: {row.error}"
            context = parse_context(row.values)._asdict()
            usable_contexts.update(name for name, value in context.items() if value is not None)
            for name, value in row.values.items():
                types.setdefault(name, set()).update(() if value is None else (_value_type(value),))
        hashes.append(np.array([_id_hash(row, names.id or _DEFAULT_ID) for row in rows], dtype=np.uint64))
        numbers.append(np.array([row.number for row in rows], dtype=np.int64))
    if not hashes:
        raise InputError(f"{source}: Expected at least one row but the file has none.")
    if not any_readable:
        raise InputError(f"{source}: Expected at least one readable row but got none; {first_error}.")
    names = check_columns(names, list(types), source)
    _, first, inverse = np.unique(np.concatenate(hashes), return_index=True, return_inverse=True)
    row_numbers = np.concatenate(numbers)
    return InputScan(
        source=source,
        chunk_size=chunk_size,
        row_numbers=row_numbers,
        names=names,
        columns=_copied_columns(source, types, names),
        first_rows=row_numbers[first[inverse]],
        unusable_contexts={name: len(inverse) - usable_contexts[name] for name in CONTEXT_COLUMNS if name in types},
    )


def warn_unusable_contexts(source: str | Path, unusable: Mapping[str, int]) -> None:
    """Log one warning with the numbers of rows whose age or indication is missing or unreadable, if there are any."""
    if counts := [f"{name} in {count} rows" for name, count in unusable.items() if count]:
        logger.warning("%s: Ignored a missing or unreadable %s.", source, " and ".join(counts))


def check_columns(names: InputColumns, columns: Collection[str], source: str | Path) -> InputColumns:
    """Return the names of the columns to read, with the default column of ids if it exists.

    Raises:
        InputError: If a column is missing. The message names the option that sets its name.
    """
    for option, name in asdict(names).items():
        if name is not None and name not in columns:
            got = ", ".join(map(str, columns)) or "none"
            remedy = _remedy(option, name, list(map(str, columns)))
            raise InputError(f"{source}: Expected a column {name!r} but got {got}. {remedy}")
    return replace(names, id=names.id or (_DEFAULT_ID if _DEFAULT_ID in columns else None))


def _remedy(option: str, name: str, columns: Sequence[str]) -> str:
    similar = [column for column in columns if column.strip().lower() == name.lower()]
    example = f", such as {similar[0]!r}" if similar else ""
    return f"Set `{option}` (--{option}) to the column's name{example}."


def _copied_columns(source: Path, types: dict[str, set[type]], names: InputColumns) -> pa.Schema:
    parquet = parquet_schema(source) if table_format(source).kind == "parquet" else None
    copied = [name for name in types if name not in astuple(names)]
    fields = [(name, parquet.field(name).type if parquet else _arrow_type(types[name])) for name in copied]
    id_type = pa.int64() if names.id is None or types[names.id] == {int} else pa.string()
    return pa.schema([(names.id or _DEFAULT_ID, id_type), *fields])


def _value_type(value: Any) -> type:
    """Return the type of a value; an integer that does not fit 64 bits counts as text."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _arrow_type(types: set[type]) -> pa.DataType:
    if types == {int, float}:
        return pa.float64()
    return _ARROW_TYPES.get(next(iter(types)), pa.string()) if len(types) == 1 else pa.string()


def _id_hash(row: TableRow, column: str) -> int:
    """Return a 64-bit hash that is equal for equal ids; each row without a valid id has a hash of its own."""
    name = row.values.get(column)
    text = f"row {row.number}" if row.error or _id_error(name) else f"id {name}"
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little")


def _id_error(value: Any) -> str | None:
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # NaN differs from itself
        return "missing id"
    if not isinstance(value, str | int) or isinstance(value, bool):
        return f"Expected a text or an integer as id but got {type(value).__name__}"
    return None
