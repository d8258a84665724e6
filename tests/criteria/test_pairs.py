from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria.pairs import gather_pairs, make_pairs, reward_margins
from radreward.types import RewardBatch

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


def test_reward_margins_equal_a_loop() -> None:
    torch.manual_seed(0)
    rewards, targets = torch.randn(9, 2), -torch.randint(0, 3, (9, 2)).float()
    group = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2])
    expected = []
    for i in range(9):
        for j in range(i + 1, 9):
            if group[i] == group[j]:
                row = []
                for k in range(2):
                    better, worse = (i, j) if targets[i, k] > targets[j, k] else (j, i)
                    equal = targets[i, k] == targets[j, k]
                    row.append(float("nan") if equal else float(rewards[better, k] - rewards[worse, k]))
                expected.append(row)
    torch.testing.assert_close(reward_margins(rewards, targets, group), torch.tensor(expected), equal_nan=True)


def test_gather_pairs_gives_rewards_and_margins_of_each_pair() -> None:
    rewards, targets = (
        torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        -torch.tensor([[0.0, 3.0], [1.0, 0.5], [9, 9]]),
    )
    batch = RewardBatch(rewards, targets, torch.zeros(3), torch.tensor([[1, 0], [0, 2]]))
    accepted, rejected, margin = gather_pairs(batch)
    assert accepted.tolist() == [[3, 4], [1, 2]]
    assert rejected.tolist() == [[1, 2], [5, 6]]
    assert margin.tolist() == [[-1, 2.5], [9, 6]]
