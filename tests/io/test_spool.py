"""Sequences of records on disk."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from radreward.io.spool import Spool

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
