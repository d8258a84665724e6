"""Mappings in Parquet: round trip, and readable by `datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.io.entry_lists import entry_list_type, from_entries, to_entries
from radreward.io.tables import read_rows, write_table

COUNTS = st.dictionaries(st.text(max_size=3), st.none() | st.floats(0, 9), min_size=1, max_size=3)


@given(COUNTS | st.dictionaries(st.text(max_size=3), COUNTS, min_size=1, max_size=3))
def test_from_entries_inverts_to_entries(value: dict[str, Any]) -> None:
    assert from_entries(to_entries(value)) == value


@pytest.mark.parametrize("value", [None, 3, "a", [], [1, 2], [{"name": "a"}], [{"name": "a", "value": 1}, 2]])
def test_from_entries_returns_other_values_unchanged(value: Any) -> None:
    assert from_entries(value) == value


def test_written_mappings_are_lists_that_datasets_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows: list[dict[str, Any]] = [{"counts": {"r1": {"a": 1.0}}}, {"counts": None}]
    schema = pa.schema({"counts": entry_list_type(entry_list_type(pa.float64()))})
    write_table(tmp_path / "a.parquet", schema, iter(rows))
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train")
    assert [from_entries(row["counts"]) for row in loaded] == [row["counts"] for row in rows]
    assert [from_entries(row.values["counts"]) for batch in read_rows(tmp_path / "a.parquet") for row in batch] == [
        row["counts"] for row in rows
    ]


def test_from_entries_reads_an_arrow_map(tmp_path: Path) -> None:
    schema = pa.schema({"counts": pa.map_(pa.string(), pa.map_(pa.string(), pa.float64()))})
    pq.write_table(pa.Table.from_pylist([{"counts": {"r1": {"a": 1.0}}}], schema=schema), tmp_path / "a.parquet")
    [[row]] = read_rows(tmp_path / "a.parquet")
    assert from_entries(row.values["counts"]) == {"r1": {"a": 1.0}}
