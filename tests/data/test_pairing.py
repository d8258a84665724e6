from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.pairing import make_pairs

rows = st.lists(st.tuples(st.integers(-3, 0) | st.floats(-5, 0), st.integers(0, 3)), max_size=12)


@given(rows)
def test_make_pairs_equals_a_loop(rows: list[tuple[float, int]]) -> None:
    totals = torch.tensor([total for total, _ in rows], dtype=torch.float64)
    group = torch.tensor([name for _, name in rows], dtype=torch.int64)
    expected = []
    for accepted, (high, accepted_name) in enumerate(rows):
        for rejected, (low, rejected_name) in enumerate(rows):
            if accepted_name == rejected_name and high > low:
                expected.append([accepted, rejected])
    pairs = make_pairs(totals, group)
    assert pairs.tolist() == expected
    assert pairs.shape == (len(expected), 2)
    assert pairs.dtype == torch.int64


def test_make_pairs_orders_infinite_totals() -> None:
    assert make_pairs(torch.tensor([-torch.inf, 0.0]), torch.zeros(2)).tolist() == [[1, 0]]


def test_make_pairs_nan_and_wrong_shapes_raise() -> None:
    with pytest.raises(ValueError, match="but got NaN"):
        make_pairs(torch.tensor([0.0, torch.nan]), torch.zeros(2))
    with pytest.raises(ValueError, match=r"to be \(C,\) but got \(2,\), \(3,\)"):
        make_pairs(torch.zeros(2), torch.zeros(3))
    with pytest.raises(ValueError, match=r"to be \(C,\)"):
        make_pairs(torch.zeros(2, 1), torch.zeros(2, 1))
