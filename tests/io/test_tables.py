from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io import input_files
from radreward.io.tables import (
    TABLE_SUFFIXES,
    AtomicTableWriter,
    TableRow,
    csv_cell,
    csv_text,
    read_rows,
    table_suffix,
    write_table,
)

SCHEMA = pa.schema({"id": pa.string(), "text": pa.string()})


def rows(path: Path, batch_size: int = 1024) -> list[TableRow]:
    return [row for batch in read_rows(path, batch_size) for row in batch]


TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5)


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
@given(texts=TEXTS)
def test_write_then_read_gives_equal_rows(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("tables") / f"a{suffix}"
    values = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    write_table(path, SCHEMA, iter(values), batch_size=2)
    assert [row.values for row in rows(path)] == values
    assert [row.number for row in rows(path)] == list(range(1, len(texts) + 1))
    assert not any(row.error for row in rows(path))


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_read_rows_batches_are_full_and_in_order(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_table(path, SCHEMA, ({"id": str(number), "text": "x"} for number in range(7)), batch_size=4)
    batches = list(read_rows(path, 3))
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert [row.values["id"] for batch in batches for row in batch] == list("0123456")


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_writer_leaves_no_file_after_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"

    def write_and_stop() -> None:
        with AtomicTableWriter(path, SCHEMA) as writer:
            writer.write([{"id": "1", "text": "x"}])
            assert not path.exists()
            raise KeyError("stop")

    with pytest.raises(KeyError):
        write_and_stop()
    assert list(tmp_path.iterdir()) == []


def test_parquet_that_expands_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["x" * 1_000_000 + str(number) for number in range(4)]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    assert len(rows(path)) == 4
    monkeypatch.setattr(input_files, "MIN_EXPANDED", 10**6)
    with pytest.raises(InputError, match=r"a\.parquet: Expected data that expand at most 500-fold but .* row groups"):
        rows(path)


def test_json_row_that_is_nested_too_deeply_raises(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": ' + "[" * 100_000 + "\n")
    [row] = rows(tmp_path / "a.jsonl")
    assert row.error == "Expected a JSON object but it is nested too deeply"


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_missing_file_and_unwritable_path_are_named(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match=rf"none{suffix}: does not exist\. Check its name"):
        rows(tmp_path / f"none{suffix}")
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=rf"a{suffix}: cannot be written \(.+\)"),
        AtomicTableWriter(tmp_path / "file" / f"a{suffix}", SCHEMA),
    ):
        pass


@pytest.mark.parametrize("name", ["a.txt", "a", "a.json", "a.csv.gz", "-"])
def test_unknown_suffix_of_an_output_is_named(name: str) -> None:
    with pytest.raises(InputError, match=r"Expected a name that ends with \.jsonl, \.csv, \.parquet but got"):
        table_suffix(name)


def test_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a file but got a folder. Give a file in it"):
        table_suffix(tmp_path)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4, unique=True))
def test_csv_columns_of_any_name_are_read_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("names") / "a.csv"
    write_table(path, pa.schema({name: pa.string() for name in names}), iter([dict.fromkeys(names, "x")]))
    assert [row.values for row in rows(path)] == [dict.fromkeys(names, "x")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", r"Expected a JSON object \(Expecting"),
        (b"[1]", "Expected a JSON object but got list"),
        (b'{"a": 1', r"Expected a JSON object \(Expecting ',' delimiter at character 8\)"),
        (b'{"a', r"Expected a JSON object \(Unterminated string starting at character 2\)"),
        (b'{"a": "\xff"}', "Expected UTF-8 text but it looks like Windows-1252; save the file as UTF-8$"),
        (b'{"a": "\x81"}', "Expected UTF-8 text but it looks like another encoding; save the file as UTF-8$"),
        (b'{"a": ' + b"1" * 5000 + b"}", "Expected a JSON object"),
        (b"[" * 200_000, "Expected a JSON object"),
    ],
    ids=["open", "list", "unclosed", "text", "Windows-1252", "other encoding", "digits", "deep"],
)
def test_invalid_json_line_is_reported_alone(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    first, second, third = rows(path)
    assert (first, third) == (TableRow(1, {"a": 1}), TableRow(3, {"a": 3}))
    assert second.error is not None
    with pytest.raises(InputError, match=problem):
        raise InputError(second.error)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"2", "Expected as many fields as the header has (2) but got 1"),
        (
            b"2,x,y",
            "Expected as many fields as the header has (2) but got 3; put a text that contains commas in double quotes",
        ),
        (
            b"2,\xff",
            "field 'text': Expected UTF-8 text but it looks like Windows-1252; save the file as 'CSV UTF-8'",
        ),
        (
            b"2,\x81\x81",
            "field 'text': Expected UTF-8 text but it looks like another encoding; save the file as 'CSV UTF-8'",
        ),
        (b'2,"x"y', "Expected CSV (',' expected after '\"')"),
    ],
)
def test_invalid_csv_row_is_reported_alone(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n1,x\n" + line + b"\n3,x\n")
    first, second, third = rows(path)
    assert (first, third) == (TableRow(1, {"id": "1", "text": "x"}), TableRow(3, {"id": "3", "text": "x"}))
    assert (second.number, second.error) == (2, problem)


def test_csv_open_quote_and_duplicate_column_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,x\n2,"open\n3,x\n')
    assert [row.error for row in rows(path)] == [None, "Expected CSV (a quote is never closed)"]
    path.write_text("id,text,id\n1,x,2\n")
    with pytest.raises(InputError, match=r"a\.csv: Expected a header of different columns but got 'id' twice"):
        rows(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,t\xe9xt\n1,x\n".encode("utf-16"), "CSV in UTF-8 but it looks like UTF-16"),
        ("id,text\n1,x\n".encode("utf-16-le"), "CSV in UTF-8 but it looks like UTF-16"),
        ("id,text\n1,x\n".encode("utf-16-be"), "CSV in UTF-8 but it looks like UTF-16"),
        ("id,t\xe9xt\n1,x\n".encode("cp1252"), "a header in UTF-8 but it looks like Windows-1252"),
        (b"PK\x03\x04\x14\x00\x06\x00", "CSV in UTF-8 but it looks like a spreadsheet"),
    ],
    ids=["UTF-16", "without mark", "big-endian", "Windows-1252", "spreadsheet"],
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_csv_in_another_encoding_is_named_with_a_remedy(
    tmp_path: Path, content: bytes, problem: str, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"a\{suffix}: Expected {problem}; save the file as 'CSV UTF-8'\.$"):
        rows(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_json_in_utf_16_is_named_with_a_remedy(tmp_path: Path, encoding: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    content = json.dumps({"text": "caf\xe9"}, ensure_ascii=False)
    path.write_text(content if suffix == ".jsonl" else f"[{content}]", encoding=encoding)
    problem = f"{suffix[1:].upper()} in UTF-8 but it looks like UTF-16; save the file as UTF-8"
    with pytest.raises(InputError, match=rf"a\{suffix}: Expected {problem}\.$"):
        rows(path)


def test_blank_json_lines_are_no_rows_and_count_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\n{"a": 1}\n\n \t\r\n{"a": 2}\r\n{\n\n')
    first, second, third = rows(path)
    assert (first, second) == (TableRow(2, {"a": 1}), TableRow(5, {"a": 2}))
    assert third.number == 6


@pytest.mark.parametrize("ending", ["", ","])
def test_csv_columns_without_name_and_values_at_the_end_are_ignored(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,text,,{ending}\n1,x,,\n2,y\n3,z, ,\n")
    assert rows(path) == [
        TableRow(1, {"id": "1", "text": "x"}),
        TableRow(2, {"id": "2", "text": "y"}),
        TableRow(3, {"id": "3", "text": "z"}),
    ]


def test_csv_text_below_an_empty_name_is_reported_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,,\n1,x,,\n2,clear, no edema,\n3,x,,,\n")
    first, second, third = rows(path)
    assert (first, second.number) == (TableRow(1, {"id": "1", "text": "x"}), 2)
    assert second.error == (
        "Expected an empty field in column 3, which has no name in the header, but got a text; name the column, "
        "or put a text that contains commas in double quotes"
    )
    assert third.error is not None
    assert third.error.startswith("Expected as many fields as the header has (4) but got 5; put")
    path.write_text(",,\n1,x,\n")
    with pytest.raises(InputError, match=r"a\.csv: Expected a header with the names of the columns but all of them"):
        rows(path)


def test_byte_order_marks_and_large_cells_are_read(tmp_path: Path) -> None:
    large = "x" * 200_000
    (tmp_path / "a.csv").write_text(f"id,text\n1,{large}\n", encoding="utf-8-sig")
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", "text": large}), encoding="utf-8-sig")
    for name in ("a.csv", "a.jsonl"):
        assert rows(tmp_path / name) == [TableRow(1, {"id": "1", "text": large})]


def test_csv_nested_values_are_json(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_table(path, SCHEMA, iter([{"id": "1", "text": {"é": [1, None]}}]))
    with path.open(encoding="utf-8", newline="") as file:
        cell = next(csv.DictReader(file))["text"]
    assert json.loads(cell) == {"é": [1, None]}
    assert "é" in cell


def test_parquet_invalid_utf8_names_row_and_field(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    good = pa.array(["1", "2"])
    broken = pa.array([b"x", b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": good, "text": broken}), path)
    assert rows(path) == [
        TableRow(1, {"id": "1", "text": "x"}),
        TableRow(2, {"id": "2"}, "field 'text': Expected UTF-8 text"),
    ]


@pytest.mark.parametrize("fraction", [0, 3, 0.5, -1])
def test_truncated_parquet_file_is_named(tmp_path: Path, fraction: float) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, SCHEMA, ({"id": str(number), "text": "x"} for number in range(100)))
    content = path.read_bytes()
    path.write_bytes(content[: int(fraction * len(content)) if 0 < fraction < 1 else int(fraction)])
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as parquet \(.+\)"):
        rows(path)


def test_flipped_bits_of_parquet_pages_are_reported(tmp_path: Path) -> None:
    path, rng = tmp_path / "a.parquet", Random(0)
    texts = [" ".join(rng.choices(("no", "small", "effusion", "edema"), k=20)) for _ in range(100)]
    write_table(path, SCHEMA, ({"id": str(number), "text": text} for number, text in enumerate(texts)))
    written, content = rows(path), path.read_bytes()
    end_of_pages = len(content) - int.from_bytes(content[-8:-4], "little") - 8
    reported = 0
    for _ in range(40):
        place = rng.randrange(end_of_pages)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :])
        try:
            assert rows(path) == written  # a bit that says nothing, such as one of a statistic
        except InputError:
            reported += 1
    assert reported > 30


def test_parquet_column_of_invalid_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, SCHEMA, iter([{"id": "1", "text": "x"}]))
    path.write_bytes(path.read_bytes().replace(b"text", b"te\xe5t"))
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as parquet \(.+\)"):
        rows(path)


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_append_file_joins_files_of_one_format(tmp_path: Path, suffix: str) -> None:
    parts = [tmp_path / f"{index}{suffix}" for index in range(3)]
    for index, part in enumerate(parts):
        write_table(part, SCHEMA, iter([{"id": str(index), "text": "two\nlines, \u2028 é"}]))
    with AtomicTableWriter(tmp_path / f"all{suffix}", SCHEMA) as writer:
        for part in parts:
            writer.append_file(part)
    assert [row.values["id"] for row in rows(tmp_path / f"all{suffix}")] == ["0", "1", "2"]
    assert {row.values["text"] for row in rows(tmp_path / f"all{suffix}")} == {"two\nlines, \u2028 é"}


FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "'", "- no effusion")
CELLS = st.text(st.sampled_from("'=+-@\t\r\n01.e,\"aä ")) | st.text(st.characters(exclude_categories=["Cs"]))


@given(CELLS)
def test_csv_cell_is_restored_and_never_a_formula(text: str) -> None:
    cell = csv_cell(text)
    assert csv_text(cell) == text
    if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        float(cell)


@pytest.mark.parametrize("text", ["-0.5", "+3", "-1e-5", "-.5", "5", "", "Clear.", "'quoted'", "a=b"])
def test_csv_cell_keeps_numbers_and_other_texts(text: str) -> None:
    assert csv_cell(text) == text


@pytest.mark.parametrize("value", [-0.5, -3, None, True, math.inf])
def test_csv_cell_keeps_values_that_are_no_text(value: object) -> None:
    assert csv_cell(value) is value


def test_formulas_are_kept_in_csv_if_asked(tmp_path: Path) -> None:
    quoted, kept = tmp_path / "quoted.csv", tmp_path / "kept.csv"
    schema = pa.schema({"=id": pa.string(), "values": pa.list_(pa.string())})
    rows = [{"=id": text, "values": ["=a"]} for text in FORMULAS]
    write_table(quoted, schema, iter(rows))
    with AtomicTableWriter(kept, schema, csv_formulas="keep") as writer:
        writer.write(rows)
        writer.append_file(quoted)
    with kept.open(newline="") as file:
        assert list(csv.reader(file)) == [["=id", "values"], *([text, '["=a"]'] for text in (*FORMULAS, *FORMULAS))]


def test_csv_with_formulas_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [{"id": text, "=total": -0.5} for text in FORMULAS]
    schema = pa.schema({"id": pa.string(), "=total": pa.float64()})
    write_table(path, schema, iter(rows))
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["id", "'=total"]
    assert all(line[0].startswith("'") and line[1] == "-0.5" for line in lines)
    read = [row.values for batch in read_rows(path) for row in batch]
    assert read == [{"id": text, "=total": "-0.5"} for text in FORMULAS]
