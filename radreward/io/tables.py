"""Rows of JSONL, CSV and Parquet files, read in batches and written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from radreward.errors import InputError

TABLE_SUFFIXES = (".jsonl", ".csv", ".parquet")
UNCLOSED_QUOTE_ERROR = "unexpected end of data"
"""What `csv` says of a quote that runs to the end of the file, rows and all."""


class TableRow(NamedTuple):
    """One row of a file, numbered from 1, a header not counted; `problem` says why it cannot be used."""

    number: int
    values: dict[str, Any]
    error: str | None = None


def table_suffix(path: str | Path) -> str:
    """The format of a path.

    Raises:
        InputError: If it is none of `FORMATS`.

    >>> extension("a/pairs.JSONL")
    '.jsonl'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: expected a name that ends with {', '.join(TABLE_SUFFIXES)} but got {suffix or 'none'!r}."
        )
    return suffix


def read_rows(path: str | Path, batch_size: int = 1024) -> Iterator[list[TableRow]]:
    """The rows of a file in order, batch by batch; a row that is broken is yielded with its problem.

    Memory is that of one batch (Parquet: of one page more).

    Raises:
        InputError: If the file as a whole cannot be read: missing, of another format, truncated.
    """
    kind = table_suffix(path)
    reader = {".jsonl": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}[kind]
    try:
        rows = reader(Path(path), batch_size)
        while batch := list(islice(rows, batch_size)):
            yield batch
    except (OSError, pa.ArrowException, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as {kind[1:]} ({_error_reason(error)}).") from error


def count_rows(path: str | Path) -> int | None:
    """How many rows a file has where its footer says so (Parquet), else None."""
    if table_suffix(path) != ".parquet":
        return None
    try:
        with _open_parquet(Path(path)) as file:
            return int(file.metadata.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as parquet ({_error_reason(error)}).") from error


def _error_reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())


def _read_jsonl(path: Path, batch_size: int) -> Iterator[TableRow]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield _parse_json_row(number, line)


def _parse_json_row(number: int, line: bytes) -> TableRow:
    try:
        values = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        return TableRow(number, {}, f"expected UTF-8 text but byte {error.start} is not")
    except (ValueError, RecursionError) as error:  # no JSON, or a number of thousands of digits
        return TableRow(number, {}, f"expected a JSON object ({error})")
    if not isinstance(values, dict):
        return TableRow(number, {}, f"expected a JSON object but got {type(values).__name__}")
    return TableRow(number, values)


def _read_csv(path: Path, batch_size: int) -> Iterator[TableRow]:
    csv.field_size_limit(2**31 - 1)  # the default of 128 KiB is no limit of ours
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        names = reader.fieldnames or []
        if not all(map(is_valid_utf8, names)):
            raise InputError(f"{path}: expected a header in UTF-8.")
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{path}: expected a header of different columns but {twice[0]!r} is there twice.")
        for number in count(1):
            try:
                yield _parse_csv_row(number, next(reader))
            except StopIteration:
                return
            except csv.Error as error:  # the reader goes on with the next line
                what = "a quote is never closed" if str(error) == UNCLOSED_QUOTE_ERROR else error
                yield TableRow(number, {}, f"expected CSV ({what})")


def _parse_csv_row(number: int, values: dict[Any, Any]) -> TableRow:
    extra = values.pop(None, None)  # the key of surplus fields
    if extra is not None or None in values.values():
        return TableRow(number, values, "expected as many fields as the header has")
    broken = [name for name, value in values.items() if not is_valid_utf8(value)]
    return TableRow(number, values, f"field {broken[0]!r}: expected UTF-8 text" if broken else None)


def is_valid_utf8(value: str) -> bool:
    r"""Whether a string can be written as UTF-8: a lone surrogate, `"\ud800"` in JSON, cannot.

    >>> is_text("é"), is_text("\ud800")
    (True, False)
    """
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _open_parquet(path: Path) -> pq.ParquetFile:
    path.open("rb").close()  # says in fewer words than Arrow why a file cannot be opened
    return pq.ParquetFile(path)


def _read_parquet(path: Path, batch_size: int) -> Iterator[TableRow]:
    number = 0
    with _open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=batch_size):
            yield from arrow_rows(batch, number + 1)
            number += batch.num_rows


def arrow_rows(batch: pa.RecordBatch | pa.Table, first_number: int) -> Iterator[TableRow]:
    """Rows of Arrow data, the first of them with this number."""
    for index in range(batch.num_rows):
        values, problem = {}, None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                values[name] = column[index].as_py()
            except UnicodeDecodeError:
                problem = f"field {name!r}: expected UTF-8 text"
        yield TableRow(first_number + index, values, problem)


class AtomicTableWriter:
    r"""Writes rows to a file that appears, complete, when the block ends without an error.

    Args:
        path: The file; its name says the format.
        schema: The columns and, for Parquet, their types.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> with TableWriter(path, pa.schema({"id": pa.string()})) as writer:
    ...     writer.write([{"id": "x"}])
    >>> path.read_text()
    '{"id": "x"}\n'
    """

    def __init__(self, path: str | Path, schema: pa.Schema) -> None:
        self.path, self.schema, self._suffix = Path(path), schema, table_suffix(path)
        self._partial_path = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._suffix == ".parquet":
                self._parquet_writer = pq.ParquetWriter(self._partial_path, self.schema)
            else:
                self._file = self._partial_path.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror}).") from error
        if self._suffix == ".csv":
            csv.writer(self._file).writerow(self.schema.names)
        return self

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows; in Parquet they are one row group. Nested values are JSON in CSV."""
        if self._suffix == ".parquet":
            self._parquet_writer.write_table(pa.Table.from_pylist(list(rows), schema=self.schema))
        elif self._suffix == ".jsonl":
            self._file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            csv.writer(self._file).writerows([_csv_cell(row.get(name)) for name in self.schema.names] for row in rows)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        (self._parquet_writer if self._suffix == ".parquet" else self._file).close()
        if exception_type is None:
            self._partial_path.replace(self.path)
        else:
            self._partial_path.unlink()


def _csv_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else value


def write_table(path: str | Path, schema: pa.Schema, rows: Iterator[Mapping[str, Any]], batch_size: int = 1000) -> None:
    """Write all rows of an iterator, `size` at a time."""
    with AtomicTableWriter(path, schema) as writer:
        while batch := list(islice(rows, batch_size)):
            writer.write(batch)
