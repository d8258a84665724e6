"""Parquet files, and folders of them: one file after the other, with the same columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from radreward.errors import InputError
from radreward.io.input_files import check_expansion

PARQUET_SUFFIX = ".parquet"


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a file whose pages are checked.

    Raises:
        OSError: If the file cannot be read.
        pyarrow.ArrowException: If it is not Parquet.
        InputError: If a row group is much larger than the file.
    """
    path.open("rb").close()  # the error of Python is shorter than that of Arrow
    file = pq.ParquetFile(path, page_checksum_verification=True)
    groups = range(file.metadata.num_row_groups)
    expanded = max((file.metadata.row_group(group).total_byte_size for group in groups), default=0)
    try:
        check_expansion(path, expanded, "Write it with smaller row groups, or without compression.")
    except InputError:
        file.close()
        raise
    return file


def has_parquet_files(folder: str | Path) -> bool:
    """Return True if a path is a folder with at least one Parquet file."""
    folder = Path(folder)
    return folder.is_dir() and any(path.suffix.lower() == PARQUET_SUFFIX for path in _visible_entries(folder))


def parquet_schema(path: Path) -> pa.Schema:
    """Return the columns of a file or of the files in a folder.

    Raises:
        InputError: If the folder has no Parquet file, or anything else.
    """
    return pq.read_schema(parquet_files(path)[0])


def parquet_files(path: Path) -> list[Path]:
    """Return the files of a folder in the order of their names, or the path itself if it is a file.

    Names that start with a dot or an underscore, as `_SUCCESS`, are skipped.

    Raises:
        InputError: If the folder has no Parquet file, or anything else.
    """
    if not path.is_dir():
        return [path]
    files = _visible_entries(path)
    if not files:
        raise InputError(f"{path}: Expected a folder of Parquet files but it has none.")
    if others := [file.name for file in files if file.suffix.lower() != PARQUET_SUFFIX or not file.is_file()]:
        raise InputError(f"{path}: Expected a folder of Parquet files only but got {others[0]!r}. Move it elsewhere.")
    return files


def parquet_batches(path: Path, batch_size: int) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file, or of the files in a folder, see `parquet_files`.

    Raises:
        InputError: If the columns of two files differ in name, order or type. The message names both files.
    """
    files = parquet_files(path)
    if len(files) > 1:
        _check_schemas(files)
    for file in files:
        with open_parquet(file) as parquet:
            yield from parquet.iter_batches(batch_size=batch_size)


def _visible_entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))


def _check_schemas(files: list[Path]) -> None:
    first = pq.read_schema(files[0])
    for file in files[1:]:
        for expected, got in zip_longest(first, pq.read_schema(file)):
            if expected is None or got is None or not expected.equals(got):
                names = [
                    f"column {field.name!r} of type {field.type}" if field else "none" for field in (expected, got)
                ]
                raise InputError(f"{file}: Expected {names[0]}, as in {files[0].name}, but got {names[1]}.")
