"""Paired tests against scipy, loops over all signs, and known values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radreward.statistics.paired_tests import concordant_pairs, holm, paired_differences, sign_flip_test

WHOLE = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


@given(WHOLE)
def test_exact_p_matches_loop_over_signs(values: list[float]) -> None:
    sums = [
        sum(s * x for s, x in zip(signs, values, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(abs(total) >= abs(sum(values)) for total in sums) / len(sums)
    assert sign_flip_test(np.array(values)[:, None])[0] == pytest.approx(expected, abs=1e-12)


def test_exact_p_matches_scipy() -> None:
    x = np.random.default_rng(0).normal(0.4, 1, 11)
    result = stats.permutation_test((x,), np.sum, permutation_type="samples", n_resamples=2**11)
    assert sign_flip_test(x[:, None])[0] == pytest.approx(result.pvalue, abs=1e-12)


@given(st.lists(st.floats(0.125, 1, width=32), min_size=1, max_size=9))
def test_exact_p_of_positive_float32_differences_counts_both_signs(values: list[float]) -> None:
    x = np.array(values, dtype=np.float32)[:, None]
    assert sign_flip_test(x)[0] == 2 / 2 ** len(values)  # type: ignore[arg-type]


def test_random_sign_p_close_to_exact_p() -> None:
    x = np.random.default_rng(1).normal(0.3, 1, (13, 4))  # 8192 signs
    exact, some = sign_flip_test(x), sign_flip_test(x, n_resamples=4000)
    assert not np.array_equal(exact, some)
    assert some == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 4000))


def test_random_sign_p_depends_on_seed() -> None:
    x = np.random.default_rng(1).normal(0.1, 1, (40, 1))
    assert sign_flip_test(x, seed=3) == sign_flip_test(x, seed=3)
    assert sign_flip_test(x, seed=3) != sign_flip_test(x, seed=4)


def test_random_sign_p_never_zero() -> None:
    assert sign_flip_test(np.ones((60, 1)), n_resamples=1000)[0] == pytest.approx(1 / 1000)


def test_p_one_without_difference_and_uniform_under_null() -> None:
    assert sign_flip_test(np.zeros((30, 2))).tolist() == [1.0, 1.0]
    x = np.random.default_rng(5).normal(0, 1, (60, 400))
    p = sign_flip_test(x, n_resamples=2000)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_difference_is_fraction_of_all_pairs() -> None:
    concordant, baseline = np.array([[3.0], [1.0], [0.0]]), np.array([[1.0], [1.0], [1.0]])
    result = paired_differences(concordant, baseline, np.array([[3.0], [1.0], [4.0]]))
    assert result.difference[0] == pytest.approx((4 - 3) / 8)
    assert result.low[0] <= result.difference[0] <= result.high[0]


def test_interval_matches_scipy() -> None:
    rng = np.random.default_rng(2)
    pairs = rng.integers(1, 7, (80, 1)).astype(float)
    concordant = rng.binomial(pairs.astype(int), 0.8).astype(float)
    baseline = rng.binomial(pairs.astype(int), 0.6).astype(float)
    result = paired_differences(concordant, baseline, pairs)
    oracle = stats.bootstrap(
        (concordant[:, 0] - baseline[:, 0], pairs[:, 0]),
        lambda x, n, axis=-1: x.sum(axis) / n.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(9),
    ).confidence_interval
    assert (result.low[0], result.high[0]) == pytest.approx((oracle.low, oracle.high), abs=0.006)


def test_difference_without_pairs_is_nan() -> None:
    zeros, ones = np.zeros((4, 1)), np.ones((4, 1))
    result = paired_differences(np.hstack([zeros, ones]), np.hstack([zeros, zeros]), np.hstack([zeros, ones]))
    assert [math.isnan(column[0]) for column in result] == [True] * 4
    assert [column[1] for column in result] == [1, 1, 1, 0.125]


def test_different_shapes_raise_value_error() -> None:
    with pytest.raises(ValueError, match=r"three \(G, M\) arrays"):
        paired_differences(np.ones((2, 1)), np.ones((2, 1)), np.ones((3, 1)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_matches_loop_over_ranks(p: list[float]) -> None:
    expected = []
    for value in p:
        smaller = sorted(entry for entry in p if entry <= value)
        expected.append(min(1.0, max((len(p) - rank) * entry for rank, entry in enumerate(smaller))))
    # Among equal p-values the first has the largest factor, which applies to all of them.
    assert holm(p) == pytest.approx(expected)


def test_holm_keeps_nan() -> None:
    result = holm([0.5, math.nan, 0.01])
    assert math.isnan(result[1])
    assert result[::2] == [0.5, 0.02]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2), st.integers(-2, 2)), max_size=14))
def test_concordant_pairs_match_loop_per_reference(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    group = np.array([f"r{row[0]}" for row in rows], dtype=np.str_)
    rewards, quality = (np.array([[float(row[side])] for row in rows]).reshape(-1, 1) for side in (1, 2))
    concordant, comparable = concordant_pairs(rewards, quality, group)
    for index, name in enumerate(np.unique(group)):
        candidates = [row for row in rows if f"r{row[0]}" == name]
        untied = [(a, b) for a, b in itertools.combinations(candidates, 2) if a[2] != b[2]]
        assert comparable[index, 0] == len(untied)
        assert concordant[index, 0] == sum((a[1] - b[1]) * (a[2] - b[2]) > 0 for a, b in untied)
