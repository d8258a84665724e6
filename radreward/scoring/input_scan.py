"""First pass over a file to score: its columns, number of rows and duplicate ids."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from radreward.errors import InputError
from radreward.io.tables import TableRow, read_rows, table_suffix
from radreward.scorers.base import PairError, validate_pair

REQUIRED_COLUMNS = ("id", "reference", "candidate")
_ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputScan:
    """Result of the first pass over the input."""

    source: Path
    chunk_size: int
    num_rows: int
    columns: pa.Schema
    """Columns that are copied to the output: `id` and all that are not scored."""
    first_rows: np.ndarray
    """(num_rows,) int64 number of the first row that has the id of each row."""

    @property
    def chunk_sizes(self) -> list[int]:
        """Number of rows of each chunk."""
        return [min(self.chunk_size, self.num_rows - start) for start in range(0, self.num_rows, self.chunk_size)]

    def find_error(self, row: TableRow) -> PairError | None:
        """Return why a row cannot be scored, or None."""
        if row.error:
            return PairError("", row.error)
        if reason := _id_error(row.values.get("id")):
            return PairError("id", reason)
        if (first := int(self.first_rows[row.number - 1])) != row.number:
            return PairError("id", f"duplicate id, first in row {first}")
        return validate_pair(row.values.get("reference"), row.values.get("candidate"))


def scan_input(source: Path, chunk_size: int) -> InputScan:
    """Read a file once; its memory grows by 8 bytes per row.

    Raises:
        InputError: If the file cannot be read, has no readable row, or lacks a required column.
    """
    types: dict[str, set[type]] = {}
    hashes: list[np.ndarray] = []
    first_error: str | None = None
    any_readable = False
    for batch in read_rows(source, chunk_size):
        for row in batch:
            any_readable = any_readable or row.error is None
            first_error = first_error or row.error
            for name, value in row.values.items():
                types.setdefault(name, set()).update(() if value is None else (_value_type(value),))
        hashes.append(np.array([_id_hash(row) for row in batch], dtype=np.uint64))
    if not hashes:
        raise InputError(f"{source}: Expected at least one row but the file has none.")
    if not any_readable:
        raise InputError(f"{source}: Expected at least one readable row but got none; row 1: {first_error}.")
    if missing := [name for name in REQUIRED_COLUMNS if name not in types]:
        raise InputError(f"{source}: Expected a column {missing[0]!r} but got {', '.join(types) or 'none'}.")
    _, first, inverse = np.unique(np.concatenate(hashes), return_index=True, return_inverse=True)
    return InputScan(
        source=source,
        chunk_size=chunk_size,
        num_rows=len(inverse),
        columns=_copied_columns(source, types),
        first_rows=first[inverse] + 1,
    )


def _copied_columns(source: Path, types: dict[str, set[type]]) -> pa.Schema:
    parquet = pq.read_schema(source) if table_suffix(source) == ".parquet" else None
    names = [name for name in types if name not in REQUIRED_COLUMNS]
    fields = [(name, parquet.field(name).type if parquet else _arrow_type(types[name])) for name in names]
    return pa.schema([("id", pa.int64() if types["id"] == {int} else pa.string()), *fields])


def _value_type(value: Any) -> type:
    """Return the type of a value; an integer that does not fit 64 bits counts as text."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _arrow_type(types: set[type]) -> pa.DataType:
    if types == {int, float}:
        return pa.float64()
    return _ARROW_TYPES.get(next(iter(types)), pa.string()) if len(types) == 1 else pa.string()


def _id_hash(row: TableRow) -> int:
    """Return 64 bits that are equal for equal ids and differ for rows without a valid id."""
    name = row.values.get("id")
    text = f"row {row.number}" if row.error or _id_error(name) else f"id {name}"
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little")


def _id_error(value: Any) -> str | None:
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # NaN differs from itself
        return "missing id"
    if not isinstance(value, str | int) or isinstance(value, bool):
        return f"expected a text or an integer as id but got {type(value).__name__}"
    return None
