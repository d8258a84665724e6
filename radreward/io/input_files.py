"""Files that are read: their format, and their bytes, which may be compressed or come from standard input."""

from __future__ import annotations

import gzip
import io
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, get_args

from radreward.errors import InputError
from radreward.io.spool import StreamSpool

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STANDARD_INPUT = "-"
"""Path of standard input."""
MIN_EXPANDED, MAX_EXPANSION = 2**28, 500
"""Compressed data that expand to more than this number of bytes may be at most this many times larger than the file."""
_GZIP = ".gz"
_FIRST_BYTES = 2**12
"""Bytes of standard input in which its first character is expected."""
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"
"""White space, marks of byte order in UTF-8 and UTF-16, and the other half of a character in UTF-16."""
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_UNREADABLE_STARTS = {b"\x1f\x8b": "gzip", b"PAR1": "Parquet"}

TableKind = Literal["jsonl", "json", "csv", "tsv", "parquet"]


class TableFormat(NamedTuple):
    """Format of a file of rows."""

    kind: TableKind
    is_compressed: bool = False
    """True for gzip."""

    def __str__(self) -> str:
        return f"{self.kind}{_GZIP if self.is_compressed else ''}"


def table_format(path: str | Path) -> TableFormat:
    """Return the format of an input by its name; of standard input, `-`, by its first character.

    A folder is read as Parquet.

    Raises:
        InputError: If the name has another suffix, or standard input has another format.

    >>> str(table_format("a/pairs.CSV.gz")), str(table_format("pairs.json"))
    ('csv.gz', 'json')
    """
    path = Path(path)
    if is_standard_input(path):
        return _detect_format()
    if path.is_dir():
        return TableFormat("parquet")
    is_compressed = path.suffix.lower() == _GZIP
    suffix = Path(path.stem if is_compressed else path.name).suffix.lower()
    for kind in get_args(TableKind):
        if suffix == f".{kind}" and not (is_compressed and kind == "parquet"):
            return TableFormat(kind, is_compressed)
    got = f"{suffix}{_GZIP if is_compressed else ''}" or "none"
    remedy = " Save the sheet as 'CSV UTF-8'." if suffix in _SPREADSHEETS else ""
    raise InputError(
        f"{path}: Expected a name that ends with .jsonl, .json, .csv or .tsv, with or without .gz, or with .parquet, "
        f"but got {got!r}.{remedy}"
    )


def is_standard_input(path: str | Path) -> bool:
    """Return True if a path stands for standard input.

    >>> is_standard_input("-"), is_standard_input("pairs.jsonl")
    (True, False)
    """
    return str(path) == STANDARD_INPUT


def open_stored(path: str | Path) -> io.BufferedReader:
    """Open a file as it is stored, or standard input, which is copied to a temporary file when it is first opened.

    Raises:
        OSError: If it cannot be read.
    """
    if not is_standard_input(path):
        return Path(path).open("rb")
    if sys.stdin is None:  # of a process without a terminal on Windows
        raise InputError(f"{path}: Expected a standard input but this process has none.")
    return _spool(sys.stdin.buffer).open()


def open_input(path: str | Path) -> io.BufferedReader:
    """Open a file as `open_stored` does, and decompress it if its name ends with `.gz`.

    Reading raises `InputError` if it expands too much, and `EOFError` or `zlib.error` if it is damaged.

    Raises:
        OSError: If it cannot be read.
    """
    stored = open_stored(path)
    if Path(path).suffix.lower() != _GZIP:
        return stored
    return io.BufferedReader(_BoundedGzip(stored, Path(path)))


def check_expansion(path: Path, expanded: int, remedy: str) -> None:
    """Check that compressed data are not much larger than their file, which would fill the memory or take forever.

    Raises:
        InputError: If they are. The message ends with the remedy.
    """
    size = path.stat().st_size
    if expanded > max(MIN_EXPANDED, MAX_EXPANSION * size):
        raise InputError(
            f"{path}: Expected data that expand at most {MAX_EXPANSION}-fold but {size:,} bytes expand to "
            f"{expanded:,} or more. {remedy}"
        )


class _BoundedGzip(io.RawIOBase):
    """Decompressed bytes of a gzip file, up to the largest expansion."""

    def __init__(self, stored: BinaryIO, path: Path) -> None:
        self._stored, self._path, self._expanded = stored, path, 0
        self._content = gzip.GzipFile(fileobj=stored)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        size = self._content.readinto(buffer)
        self._expanded += size
        check_expansion(self._path, self._expanded, "Decompress it if you trust it.")
        return size

    def close(self) -> None:
        self._content.close()
        self._stored.close()
        super().close()


@lru_cache(maxsize=1)
def _spool(stream: BinaryIO) -> StreamSpool:
    return StreamSpool(stream)


def _detect_format() -> TableFormat:
    """Return the format of standard input."""
    with open_stored(STANDARD_INPUT) as file:
        start = file.read(_FIRST_BYTES)
    for magic, name in _UNREADABLE_STARTS.items():
        if start.startswith(magic):
            raise InputError(f"{STANDARD_INPUT}: Expected JSONL, JSON, CSV or TSV but got {name}. Name a file instead.")
    first = start.lstrip(_BEFORE_TEXT)[:1]
    return TableFormat("jsonl" if first == b"{" else "json" if first == b"[" else "csv")
