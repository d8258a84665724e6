"""float32 in text."""

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from radreward.io.numbers import shortest_float32


@given(st.floats(width=32, allow_nan=False))
def test_shortest_float32_reads_back_and_is_no_longer(value: float) -> None:
    text = repr(shortest_float32(value))
    assert struct.pack("f", float(text)) == struct.pack("f", value)
    assert len(text) <= len(repr(value))
    assert float(text) == float(np.format_float_scientific(np.float32(value), unique=True))
