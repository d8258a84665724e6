"""Elements of JSON arrays."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io import json_arrays
from radreward.io.json_arrays import JSONArrayError, array_elements
from radreward.io.tables import read_rows

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)


def elements(content: bytes, chunk_size: int = 2**16, max_size: int = 10**6) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_arrays, "_CHUNK_SIZE", chunk_size)
        return list(array_elements(io.BytesIO(content), max_size))


@given(
    values=st.lists(VALUES, max_size=5),
    indent=st.none() | st.integers(0, 2),
    ascii=st.booleans(),
    chunk=st.integers(1, 9),
)
def test_elements_are_those_of_the_json_module(values: list[Any], indent: int | None, ascii: bool, chunk: int) -> None:
    content = b"\xef\xbb\xbf \n" + json.dumps(values, indent=indent, ensure_ascii=ascii).encode() + b"\n "
    assert [json.loads(element) for element in elements(content, chunk)] == values


@given(text=st.text(st.sampled_from('[]{},:"\\ \n1a')), chunk=st.integers(1, 9))
def test_any_text_is_read_as_json_reads_it_or_refused(text: str, chunk: int) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    try:
        found = [json.loads(element) for element in elements(text.encode(), chunk)]
    except ValueError:  # also JSONArrayError
        found = None
    assert found == (expected if isinstance(expected, list) else None)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Expected a JSON array of objects but it starts with nothing"),
        (b'{"a": 1}\n', "Expected a JSON array of objects but it starts with '{"),
        (b'[{"a": 1}, {"a": 2', "Expected an end of the array but element 2 is never closed"),
        (b'[{"a": 1}', "element 1 is never closed"),
        (b"[1] [2]", r"Expected the end of the file after the array but got '\[2\]'"),
        (b'["' + b"x" * 10**6, "Expected at most 1,000,000 bytes in element 1 but it has more"),
    ],
)
def test_other_content_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(JSONArrayError, match=problem):
        elements(content)


def test_invalid_element_is_reported_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": 1},\n{"a: 2},\n{"a": 3},\n4,\n{"a": "\xff"},\n{"a": }, {"a": 7}]')
    [batch] = read_rows(path)
    assert [row.number for row in batch] == list(range(1, len(batch) + 1))
    assert [row.values for row in batch if not row.error] == [{"a": 1}, {"a": 3}, {"a": 7}]
    assert [row.error.split(" (")[0] for row in batch if row.error] == [
        "Expected a JSON object",
        "Expected a JSON object but got int",
        "Expected UTF-8 text but it looks like Windows-1252; save the file as UTF-8",
        "Expected a JSON object",
    ]


def test_file_of_another_layout_has_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{"a": 2}\n')
    with pytest.raises(
        InputError, match=r"a\.json: Expected a JSON array .* Name a file with one object per line \.jsonl\."
    ):
        list(read_rows(tmp_path / "a.json"))
