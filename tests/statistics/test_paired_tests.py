"""The paired tests against scipy, loops over all signs, and answers that are known."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radreward.metrics.functional import count_concordant_pairs
from radreward.statistics.paired_tests import concordant_pairs, holm, paired_differences, sign_flip_test

WHOLE = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


@given(WHOLE)
def test_exact_test_is_a_loop_over_all_signs(values: list[float]) -> None:
    sums = [
        sum(s * x for s, x in zip(signs, values, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(abs(total) >= abs(sum(values)) for total in sums) / len(sums)
    assert sign_flip_test(np.array(values)[:, None])[0] == pytest.approx(expected, abs=1e-12)


def test_exact_test_is_that_of_scipy() -> None:
    x = np.random.default_rng(0).normal(0.4, 1, 11)
    found = stats.permutation_test((x,), np.sum, permutation_type="samples", n_resamples=2**11)
    assert sign_flip_test(x[:, None])[0] == pytest.approx(found.pvalue, abs=1e-12)


def test_random_signs_come_near_all_signs() -> None:
    x = np.random.default_rng(1).normal(0.3, 1, (13, 4))  # 8192 signs
    exact, some = sign_flip_test(x), sign_flip_test(x, n_resamples=4000)
    assert not np.array_equal(exact, some)
    assert some == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 4000))


def test_random_signs_follow_the_seed() -> None:
    x = np.random.default_rng(1).normal(0.1, 1, (40, 1))
    assert sign_flip_test(x, seed=3) == sign_flip_test(x, seed=3)
    assert sign_flip_test(x, seed=3) != sign_flip_test(x, seed=4)


def test_p_is_never_zero() -> None:
    assert sign_flip_test(np.ones((60, 1)), n_resamples=1000)[0] == pytest.approx(1 / 1000)


def test_without_a_difference_p_is_one_and_uniform_otherwise() -> None:
    assert sign_flip_test(np.zeros((30, 2))).tolist() == [1.0, 1.0]
    x = np.random.default_rng(5).normal(0, 1, (60, 400))
    p = sign_flip_test(x, n_resamples=2000)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_differences_are_shares_of_all_pairs() -> None:
    right, against = np.array([[3.0], [1.0], [0.0]]), np.array([[1.0], [1.0], [1.0]])
    found = paired_differences(right, against, np.array([[3.0], [1.0], [4.0]]))
    assert found.difference[0] == pytest.approx((4 - 3) / 8)
    assert found.low[0] <= found.difference[0] <= found.high[0]


def test_interval_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    pairs = rng.integers(1, 7, (80, 1)).astype(float)
    right = rng.binomial(pairs.astype(int), 0.8).astype(float)
    against = rng.binomial(pairs.astype(int), 0.6).astype(float)
    found = paired_differences(right, against, pairs)
    oracle = stats.bootstrap(
        (right[:, 0] - against[:, 0], pairs[:, 0]),
        lambda x, n, axis=-1: x.sum(axis) / n.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(9),
    ).confidence_interval
    assert (found.low[0], found.high[0]) == pytest.approx((oracle.low, oracle.high), abs=0.006)


def test_without_pairs_nothing_is_told() -> None:
    zeros, ones = np.zeros((4, 1)), np.ones((4, 1))
    found = paired_differences(np.hstack([zeros, ones]), np.hstack([zeros, zeros]), np.hstack([zeros, ones]))
    assert [math.isnan(column[0]) for column in found] == [True] * 4
    assert [column[1] for column in found] == [1, 1, 1, 0.125]


def test_shapes_have_to_fit() -> None:
    with pytest.raises(ValueError, match=r"three \(G, M\) arrays"):
        paired_differences(np.ones((2, 1)), np.ones((2, 1)), np.ones((3, 1)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_a_loop_over_ranks(p: list[float]) -> None:
    expected = []
    for value in p:
        smaller = sorted(entry for entry in p if entry <= value)
        expected.append(min(1.0, max((len(p) - rank) * entry for rank, entry in enumerate(smaller))))
    # Of equal p the first has the greatest factor, which the others share.
    assert holm(p) == pytest.approx(expected)


def test_holm_passes_what_is_no_number() -> None:
    found = holm([0.5, math.nan, 0.01])
    assert math.isnan(found[1])
    assert found[::2] == [0.5, 0.02]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2), st.integers(-2, 2)), max_size=14))
def test_pairs_are_those_of_a_loop_and_of_the_metric(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    group = np.array([f"r{row[0]}" for row in rows], dtype=np.str_)
    rewards, quality = (np.array([[float(row[side])] for row in rows]).reshape(-1, 1) for side in (1, 2))
    right, pairs = concordant_pairs(rewards, quality, group)
    for place, name in enumerate(np.unique(group)):
        here = [row for row in rows if f"r{row[0]}" == name]
        apart = [(a, b) for a, b in itertools.combinations(here, 2) if a[2] != b[2]]
        assert pairs[place, 0] == len(apart)
        assert right[place, 0] == sum((a[1] - b[1]) * (a[2] - b[2]) > 0 for a, b in apart)
    numbers = torch.tensor([row[0] for row in rows], dtype=torch.int64)
    of_all = count_concordant_pairs(torch.from_numpy(rewards), torch.from_numpy(quality), numbers)
    assert (right.sum(0), pairs.sum(0)) == of_all
