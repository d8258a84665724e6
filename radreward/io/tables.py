"""Rows of files: read in batches; written as JSONL, CSV or Parquet, completely or not at all."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from radreward.errors import InputError
from radreward.io.atomic import atomic_file
from radreward.io.csv_separators import SEPARATORS, declared_separator, header_separators
from radreward.io.entry_lists import is_entry_list, to_entries
from radreward.io.input_files import TableKind, open_input, table_format
from radreward.io.json_arrays import JSONArrayError, array_elements
from radreward.io.parquet_files import open_parquet, parquet_batches
from radreward.io.terminal import SURROGATE
from radreward.io.text_encoding import check_start, encoding_problem

if TYPE_CHECKING:
    from pandas import DataFrame

TABLE_SUFFIXES = (".jsonl", ".csv", ".parquet")
"""Suffixes of outputs; `table_format` has the formats of inputs."""
_UNCLOSED_QUOTE_ERROR = "unexpected end of data"
"""Message of `csv` for a quote that is never closed."""
_MAX_ELEMENT = 2**28
"""Largest number of bytes of a row in a JSON array."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Start of a cell that a spreadsheet evaluates, or of one that `csv_cell` could have written for it."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


CSVFormulas = Literal["quote", "keep"]
"""Quote a text like a formula in CSV with an apostrophe, so that no spreadsheet evaluates it, or keep it."""


def csv_cell(value: Any, formulas: CSVFormulas = "quote") -> Any:
    """Return a value as it is written to CSV: no spreadsheet evaluates it, and `csv_text` restores a text.

    A text like a formula gets an apostrophe; numbers, as text too, stay as they are; lists and mappings become JSON.
    `formulas="keep"` leaves texts like formulas as they are, for programs that do not know the apostrophe.

    >>> csv_cell("=A1"), csv_cell("-0.5"), csv_cell(-0.5), csv_cell(["a"])
    ("'=A1", '-0.5', -0.5, '["a"]')
    """
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    if formulas == "quote" and isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def csv_text(cell: str) -> str:
    """Return the text for which `csv_cell` wrote a cell.

    >>> csv_text(csv_cell("+ effusion")), csv_text("'quoted'")
    ('+ effusion', "'quoted'")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


class TableRow(NamedTuple):
    """A row of a file."""

    number: int
    """From 1; a header is not counted. In JSONL the number of the line; blank lines are no rows."""
    values: dict[str, Any]
    error: str | None = None
    """Reason why the row is unreadable."""


def table_suffix(path: str | Path) -> str:
    """Return the suffix of an output in lower case.

    Raises:
        InputError: If it is not one of `TABLE_SUFFIXES`.

    >>> table_suffix("a/pairs.JSONL")
    '.jsonl'
    """
    suffix = Path(path).suffix.lower()
    if Path(path).is_dir():
        raise InputError(f"{path}: Expected a file but got a folder. Give a file in it.")
    if suffix not in TABLE_SUFFIXES:
        expected = ", ".join(TABLE_SUFFIXES)
        raise InputError(f"{path}: Expected a name that ends with {expected} but got {suffix or 'none'!r}.")
    return suffix


def read_rows(path: str | Path, batch_size: int = 1024) -> Iterator[list[TableRow]]:
    """Yield the rows of an input in order, in batches; an unreadable row has an `error`.

    Formats are JSONL, JSON arrays of objects, TSV, and CSV, whose header, or a line such as `sep=;` before it, decides
    between commas, semicolons and tabs; each may be compressed with gzip. Others are Parquet and folders of Parquet
    files, with rows numbered across files. Blank lines, and columns without a name and values at the end, are skipped.
    `-` is standard input. One batch is in memory at a time (for Parquet, also one page). In CSV and TSV, the apostrophe
    before a formula is removed, see `csv_cell`.

    Raises:
        InputError: If the input is missing, truncated or of another format.
    """
    path = Path(path)
    table = table_format(path)
    try:
        rows = _parse_rows(path, table.kind, batch_size)
        while batch := list(islice(rows, batch_size)):
            yield batch
    except FileNotFoundError as error:
        raise InputError(f"{path}: does not exist. Check its name; relative paths start at {Path.cwd()}.") from error
    except JSONArrayError as error:
        raise InputError(f"{path}: {error}.") from error
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, pa.ArrowException, csv.Error) as error:
        # names of columns may be invalid UTF-8; a truncated gzip raises EOFError
        raise InputError(f"{path}: cannot be read as {table} ({_error_reason(error)}).") from error


def _parse_rows(path: Path, kind: TableKind, batch_size: int) -> Iterator[TableRow]:
    if kind == "parquet":
        return _read_parquet(path, batch_size)
    if kind == "jsonl":
        return read_json_lines(path)
    return _read_json_array(path) if kind == "json" else _read_csv(path, kind)


def _error_reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())


def read_json_lines(path: Path) -> Iterator[TableRow]:
    """Yield the rows of a file with a JSON object per line, without blank lines; an unreadable row has an `error`.

    Raises:
        InputError: If the file looks like UTF-16 or a spreadsheet.
        OSError: If it cannot be read.
    """
    check_start(path, "JSONL")
    with open_input(path) as file:
        for number, line in enumerate(file, 1):
            if line.removeprefix(codecs.BOM_UTF8).strip():
                yield _parse_json_row(number, line.rstrip())


def _read_json_array(path: Path) -> Iterator[TableRow]:
    check_start(path, "JSON")
    with open_input(path) as file:
        for number, element in enumerate(array_elements(file, _MAX_ELEMENT), 1):
            yield _parse_json_row(number, element)


def _parse_json_row(number: int, line: bytes) -> TableRow:
    try:
        values = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        problem = encoding_problem(line.decode(errors="surrogateescape"), "JSONL")
        return TableRow(number, {}, f"Expected UTF-8 text {problem}")
    except RecursionError:
        return TableRow(number, {}, "Expected a JSON object but it is nested too deeply")
    except json.JSONDecodeError as error:  # its own message has a line number, which is not that of the file
        reason = f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
        return TableRow(number, {}, f"Expected a JSON object ({reason})")
    except ValueError as error:  # a number of thousands of digits
        return TableRow(number, {}, f"Expected a JSON object ({error})")
    if not isinstance(values, dict):
        return TableRow(number, {}, f"Expected a JSON object but got {type(values).__name__}")
    return TableRow(number, values)


def _open_csv(path: Path) -> TextIO:
    return io.TextIOWrapper(open_input(path), encoding="utf-8-sig", errors="surrogateescape", newline="")


def _csv_separator(path: Path, kind: TableKind) -> tuple[str, bool]:
    """Return the separator of columns, and True if the first line declares it."""
    with _open_csv(path) as file:
        if declared := declared_separator(file):
            return declared, True
    if kind == "tsv":
        return "\t", False
    with _open_csv(path) as file:
        separators = header_separators(file)
    if len(separators) > 1:
        found = " and ".join(SEPARATORS[separator] for separator in separators)
        raise InputError(
            f"{path}: Expected a header with one separator of columns but got {found}. Put column names that contain "
            "a separator in double quotes."
        )
    return separators[0] if separators else ",", False


def _read_csv(path: Path, kind: TableKind) -> Iterator[TableRow]:
    csv.field_size_limit(2**31 - 1)  # the default is 128 KiB
    check_start(path, "CSV")
    separator, is_declared = _csv_separator(path, kind)
    with _open_csv(path) as file:
        if is_declared:
            file.readline()
        reader = csv.DictReader(file, delimiter=separator, strict=True)
        header = [csv_text(name) for name in reader.fieldnames or ()]
        names = reader.fieldnames = _column_names(path, header)
        for number in count(1):
            try:
                yield _parse_csv_row(number, next(reader), len(header) - len(names), SEPARATORS[separator])
            except StopIteration:
                return
            except csv.Error as error:  # the reader resumes at the next line
                cause = "a quote is never closed" if str(error) == _UNCLOSED_QUOTE_ERROR else error
                yield TableRow(number, {}, f"Expected CSV ({cause})")


def _column_names(path: Path, header: Sequence[str]) -> list[str]:
    """Return the names in a header without empty ones at its end."""
    names = list(header)
    while names and not names[-1]:
        names.pop()
    if header and not names:
        raise InputError(f"{path}: Expected a header with the names of the columns but all of them are empty.")
    if not is_valid_utf8(joined := "".join(names)):
        raise InputError(f"{path}: Expected a header in UTF-8 {encoding_problem(joined, 'CSV')}.")
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: Expected a header of different columns but got {duplicates[0]!r} twice.")
    return names


def _parse_csv_row(number: int, values: dict[Any, Any], num_unnamed: int, separators: str) -> TableRow:
    """Return a row; `num_unnamed` is the number of empty names at the end of the header."""
    extra = values.pop(None, [])  # the key of surplus fields
    if problem := _fields_problem(list(values.values()), extra, num_unnamed, separators):
        return TableRow(number, values, problem)
    invalid = [name for name, value in values.items() if not is_valid_utf8(value)]
    problems = [f"field {name!r}: Expected UTF-8 text {encoding_problem(values[name], 'CSV')}" for name in invalid[:1]]
    return TableRow(number, {name: csv_text(value) for name, value in values.items()}, *problems)


def _fields_problem(
    fields: Sequence[str | None], extra: Sequence[str], num_unnamed: int, separators: str
) -> str | None:
    """Return the problem of a row with too few fields, with too many, or with a text below an empty name."""
    remedy = f"put a text that contains {separators} in double quotes"
    if None in fields or len(extra) > num_unnamed:
        got = len(fields) - fields.count(None) + len(extra)
        problem = f"Expected as many fields as the header has ({len(fields) + num_unnamed}) but got {got}"
        return f"{problem}; {remedy}" if extra else problem
    if filled := [column for column, text in enumerate(extra, len(fields) + 1) if text.strip()]:
        problem = f"Expected an empty field in column {filled[0]}, which has no name in the header, but got a text"
        return f"{problem}; name the column, or {remedy}"
    return None


def is_valid_utf8(value: str) -> bool:
    r"""Return True if a string can be encoded as UTF-8; a lone surrogate, `"\ud800"` in JSON, cannot.

    >>> is_valid_utf8("é"), is_valid_utf8("\ud800")
    (True, False)
    """
    return SURROGATE.search(value) is None


def _read_parquet(path: Path, batch_size: int) -> Iterator[TableRow]:
    number = 0
    for batch in parquet_batches(path, batch_size):
        yield from arrow_rows(batch, number + 1)
        number += batch.num_rows


def arrow_rows(batch: pa.RecordBatch | pa.Table, first_number: int) -> Iterator[TableRow]:
    """Yield the rows of Arrow data, numbered from `first_number`."""
    for index in range(batch.num_rows):
        values, error = {}, None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                values[name] = column[index].as_py()
            except UnicodeDecodeError:
                error = f"field {name!r}: Expected UTF-8 text"
        yield TableRow(first_number + index, values, error)


class AtomicTableWriter:
    r"""Writer of a file that appears, complete, when the block ends without an error.

    Args:
        path: The file; its suffix decides the format.
        schema: The columns and, for Parquet, their types. A column of `entry_list_type` takes mappings.
        csv_formulas: See `csv_cell`; for CSV only.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> with AtomicTableWriter(path, pa.schema({"id": pa.string()})) as writer:
    ...     writer.write([{"id": "x"}])
    >>> path.read_text()
    '{"id": "x"}\n'
    """

    def __init__(self, path: str | Path, schema: pa.Schema, csv_formulas: CSVFormulas = "quote") -> None:
        self.path, self.schema, self._suffix = Path(path), schema, table_suffix(path)
        self._csv_formulas = csv_formulas
        self._mappings = [field.name for field in schema if is_entry_list(field.type)]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            new = stack.enter_context(atomic_file(self.path))
            if self._suffix == ".parquet":
                writer = pq.ParquetWriter(new, self.schema, write_page_checksum=True)
                self._parquet_writer = stack.enter_context(writer)
            else:
                self._file = stack.enter_context(new.open("w", encoding="utf-8", newline=""))
            if self._suffix == ".csv":
                self._write_csv_header()
            self._stack = stack.pop_all()
        return self

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows, in Parquet as one row group, in CSV with `csv_cell`."""
        if self._suffix == ".parquet":
            converted = [{**row, **{name: to_entries(row.get(name)) for name in self._mappings}} for row in rows]
            self._parquet_writer.write_table(pa.Table.from_pylist(converted, schema=self.schema))
        elif self._suffix == ".jsonl":
            self._file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            self._write_csv([row.get(name) for name in self.schema.names] for row in rows)

    def _write_csv_header(self) -> None:
        """Write the names of the columns, in quotes if one contains a separator, see `header_separators`."""
        names = [csv_cell(name, self._csv_formulas) for name in self.schema.names]
        ambiguous = any(separator in name for separator in SEPARATORS for name in names)
        csv.writer(self._file, quoting=csv.QUOTE_ALL if ambiguous else csv.QUOTE_MINIMAL).writerow(names)

    def _write_csv(self, rows: Iterable[Iterable[Any]]) -> None:
        csv.writer(self._file).writerows([csv_cell(value, self._csv_formulas) for value in row] for row in rows)

    def append_file(self, path: Path) -> None:
        """Append the rows of a file of the same format and columns, in which formulas are quoted."""
        if self._suffix == ".parquet":
            with open_parquet(path) as parquet:
                self._parquet_writer.write_table(parquet.read())
            return
        with path.open(encoding="utf-8", newline="") as file:
            if self._suffix == ".csv":
                rows = csv.reader(file)
                next(rows)
                if self._csv_formulas == "keep":
                    self._write_csv(map(csv_text, row) for row in rows)
                    return
            shutil.copyfileobj(file, self._file)

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def write_csv(path: str | Path, frame: DataFrame) -> None:
    """Write a data frame as CSV without its index, see `csv_cell`; the file appears when it is complete."""
    with atomic_file(path) as new:
        frame.map(csv_cell).to_csv(new, index=False)


def write_table(path: str | Path, schema: pa.Schema, rows: Iterator[Mapping[str, Any]], batch_size: int = 1000) -> None:
    """Write all rows of an iterator in batches; the file appears when it is complete."""
    with AtomicTableWriter(path, schema) as writer:
        while batch := list(islice(rows, batch_size)):
            writer.write(batch)
