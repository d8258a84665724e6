"""Sequences of records on disk."""

import io
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from radreward.io.spool import Spool, StreamSpool

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=5), st.integers(-7, 7), st.integers(-7, 7))
def test_spool_equals_a_list(records: list[dict[str, Any]], start: int, stop: int) -> None:
    spool = Spool(iter(records), dict, dict)
    assert len(spool) == len(records)
    assert list(spool) == records
    assert spool[start:stop] == records[start:stop]
    if -len(records) <= start < len(records):
        assert spool[start] == records[start]


@given(st.binary(max_size=30), st.lists(st.integers(1, 9), max_size=8))
def test_readers_of_a_stream_do_not_move_each_other(content: bytes, sizes: list[int]) -> None:
    spool = StreamSpool(io.BytesIO(content))
    first, second, expected = spool.open(), spool.open(), io.BytesIO(content)
    for size in sizes:
        assert first.read(size) == expected.read(size)
    assert second.read() == content
    assert first.read() == expected.read()
