"""Formats of inputs: the same rows are read from each."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io import input_files
from radreward.io.artifacts import file_fingerprint
from radreward.io.input_files import table_format
from radreward.io.tables import TableRow, csv_cell, read_rows, write_table

NAMES = ("id", "reference", "candidate")
Rows = Sequence[Mapping[str, str]]


def read(path: str | Path, batch_size: int = 2) -> list[TableRow]:
    return [row for batch in read_rows(path, batch_size) for row in batch]


def as_jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_array(rows: Rows, indent: int | None = None) -> bytes:
    return json.dumps(rows, indent=indent, ensure_ascii=False).encode()


def as_csv(rows: Rows, separator: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(NAMES)
    writer.writerows([csv_cell(row[name]) for name in NAMES] for row in rows)
    return text.getvalue().encode()


WRITERS: dict[str, Callable[[Rows], bytes]] = {
    ".jsonl": as_jsonl,
    ".json": as_array,
    ".JSON": lambda rows: as_array(rows, indent=2),
    ".csv": as_csv,
    ".Csv": lambda rows: as_csv(rows, ";"),
    ".CSV": lambda rows: as_csv(rows, "\t"),
    ".tsv": lambda rows: as_csv(rows, "\t"),
}
"""Suffix → writer of rows in this format; capital letters make variants."""
TEXTS = st.text(st.sampled_from("ab ,;\t\"'\n\r\\{}[]=é\u2028") | st.characters(exclude_categories=["Cs"]), min_size=1)
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS)), max_size=4)


class StandardInput:
    """A standard input with a content."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@given(rows=ROWS)
def test_rows_are_equal_in_every_format(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    folder = tmp_path_factory.mktemp("formats")
    expected = [TableRow(number, dict(row)) for number, row in enumerate(rows, 1)]
    for suffix, write in WRITERS.items():
        plain, packed = folder / f"a{suffix}", folder / f"a{suffix}.gz"
        plain.write_bytes(write(rows))
        packed.write_bytes(gzip.compress(write(rows)))
        assert read(plain) == expected, suffix
        assert read(packed) == expected, suffix


@given(rows=ROWS, suffix=st.sampled_from(sorted(WRITERS)))
def test_rows_of_standard_input_are_equal_when_read_twice(rows: Rows, suffix: str) -> None:
    expected = [TableRow(number, dict(row)) for number, row in enumerate(rows, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", StandardInput(WRITERS[suffix](rows)))
        together = list(zip(read("-"), read("-"), strict=True))
    assert together == list(zip(expected, expected, strict=True))


@given(rows=st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS)), max_size=6), size=st.integers(1, 3))
def test_rows_of_a_parquet_folder_are_equal(tmp_path_factory: pytest.TempPathFactory, rows: Rows, size: int) -> None:
    folder = tmp_path_factory.mktemp("parts")
    schema = pa.schema(dict.fromkeys(NAMES, pa.string()))
    parts = [rows[start : start + size] for start in range(0, len(rows), size)] or [[]]
    for number, part in reversed(list(enumerate(parts))):
        write_table(folder / f"part-{number}.parquet", schema, iter(part))
    (folder / "_SUCCESS").touch()
    assert read(folder) == [TableRow(number, dict(row)) for number, row in enumerate(rows, 1)]


@given(
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, max_size=4, unique=True),
    separator=st.sampled_from(",;\t"),
)
def test_separator_of_a_quoted_header_is_always_found(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], separator: str
) -> None:
    path = tmp_path_factory.mktemp("separators") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows([[csv_cell(name) for name in names], ["x,;\ty"] * len(names)])
    assert read(path) == [TableRow(1, dict.fromkeys(names, "x,;\ty"))]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("id;a,b", "commas and semicolons"),
        ("id,a\tb", "commas and tabs"),
        ('"id";a"x,y"', "commas and semicolons"),
        ("a,b;c\td", "commas and semicolons and tabs"),
    ],
)
def test_ambiguous_separator_is_reported_with_a_remedy(tmp_path: Path, header: str, found: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(header + "\n")
    with pytest.raises(
        InputError, match=rf"a\.csv: Expected a header with one separator of columns but got {found}\. Put"
    ):
        read(path)


def test_header_without_separator_is_one_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("report\nNo edema; no effusion.\n")
    assert read(path) == [TableRow(1, {"report": "No edema; no effusion."})]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("start", ["sep=;\r\n", "SEP=;\n", "\ufeffsep=;\n"])
def test_line_that_declares_the_separator_is_skipped(tmp_path: Path, suffix: str, start: str) -> None:
    path, content = tmp_path / f"a{suffix}", f"{start}id;a,b\r\n1;x,y\r\n".encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert read(path) == [TableRow(1, {"id": "1", "a,b": "x,y"})]


def test_column_with_the_name_of_a_declaration_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_table(path, pa.schema({"sep=;": pa.string()}), iter([{"sep=;": "x"}]))
    assert read(path) == [TableRow(1, {"sep=;": "x"})]


def test_spreadsheet_is_refused_with_a_remedy() -> None:
    with pytest.raises(InputError, match=r"but got '\.xlsx'\. Save the sheet as 'CSV UTF-8'\.$"):
        table_format("a.xlsx")


def test_tsv_header_may_contain_other_separators(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a,b\tc;d\nx\ty\n")
    assert read(path) == [TableRow(1, {"a,b": "x", "c;d": "y"})]


@pytest.mark.parametrize("name", ["a.txt", "a", "a.parquet.gz", "a.gz", "a.txt.gz", "a.xlsx"])
def test_unknown_suffix_of_an_input_is_named(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: Expected a name that ends with .* but got"):
        table_format(name)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.json.gz"])
def test_damaged_gzip_is_reported(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = gzip.compress(WRITERS[path.suffixes[0]]([dict.fromkeys(NAMES, str(number)) for number in range(500)]))
    for damaged in (
        content[: len(content) // 2],
        b"id,text\n",
        content[:20] + b"\xff" * 20 + content[40:],
        content[:-6],
    ):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"{name}: cannot be read as {name[2:]} \(.+\)"):
            read(path)


def test_gzip_that_expands_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "' + b" " * 10**7 + b'"}\n'))
    assert len(read(path)) == 1  # below the smallest limit
    monkeypatch.setattr(input_files, "MIN_EXPANDED", 10**5)
    with pytest.raises(
        InputError, match=r"a\.jsonl\.gz: Expected data that expand at most 500-fold but .*Decompress it"
    ):
        read(path)
    path.write_bytes(gzip.compress(as_jsonl([{"a": str(number)} for number in range(20_000)])))
    assert len(read(path, 1024)) == 20_000  # above the smallest limit, but of a usual ratio


@pytest.mark.parametrize(("start", "name"), [(b"\x1f\x8b\x08", "gzip"), (b"PAR1....", "Parquet")])
def test_standard_input_of_another_format_is_refused(start: bytes, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StandardInput(start))
    with pytest.raises(InputError, match=rf"^-: Expected JSONL, JSON, CSV or TSV but got {name}\."):
        read("-")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("text", "name"), [('{"a": "b"}', "JSONL"), ('[{"a": "b"}]', "JSON"), ("a\nb\nc\nd\n", "CSV")])
def test_standard_input_in_utf_16_is_named(
    encoding: str, text: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", StandardInput(text.encode(encoding)))
    with pytest.raises(InputError, match=rf"^-: Expected {name} in UTF-8 but it looks like UTF-16; save the file as"):
        read("-")


def test_missing_standard_input_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="Expected a standard input but this process has none"):
        read("-")


def test_fingerprint_of_standard_input_is_that_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = as_jsonl([{"a": "x" * 10**5}] * 3)
    (tmp_path / "a").write_bytes(content)
    monkeypatch.setattr(sys, "stdin", StandardInput(content))
    assert len(read("-")) == 3
    assert file_fingerprint("-") == file_fingerprint(tmp_path / "a")


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": pa.string()}, "Expected column 'text' of type string, as in a.parquet, but got none"),
        ({"id": pa.string(), "text": pa.int64()}, "but got column 'text' of type int64"),
        (
            {"id": pa.string(), "text": pa.string(), "more": pa.string()},
            "Expected none, as in a.parquet, but got column",
        ),
    ],
)
def test_parquet_folder_of_different_columns_is_refused(
    tmp_path: Path, columns: dict[str, pa.DataType], problem: str
) -> None:
    write_table(tmp_path / "a.parquet", pa.schema({"id": pa.string(), "text": pa.string()}), iter([]))
    write_table(tmp_path / "b.parquet", pa.schema(columns), iter([]))
    with pytest.raises(InputError, match=rf"b\.parquet: .*{problem}"):
        read(tmp_path)


def test_folder_of_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a folder of Parquet files but it has none"):
        read(tmp_path)
    write_table(tmp_path / "a.parquet", pa.schema({"id": pa.string()}), iter([]))
    (tmp_path / "b.csv").touch()
    with pytest.raises(InputError, match=r"Expected a folder of Parquet files only but got 'b\.csv'"):
        read(tmp_path)
