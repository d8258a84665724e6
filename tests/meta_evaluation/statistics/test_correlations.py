import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from radreward.meta_evaluation.statistics.correlations import (
    CORRELATIONS,
    correlate_all,
    correlate_within_systems,
    correlations,
)
from radreward.statistics.cluster_bootstrap import resample_clusters

NONE = np.ones((0, 1), dtype=np.int64)


def with_holes(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    values = rng.integers(0, 6, size) + (rng.random() < 0.5) * rng.normal(size=size)
    return np.where(rng.random(size) < 0.15, np.nan, values)


@pytest.mark.parametrize("begin", range(0, 1000, 250))
def test_correlations_are_scipys_over_the_rows_in_which_both_are_known(begin: int) -> None:
    defined = 0
    for seed in range(begin, begin + 250):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 40))
        x, y = with_holes(rng, size), with_holes(rng, size)
        [[found]] = correlate_all(x[None], y[None], np.arange(size), np.ones((0, size), dtype=np.int64))
        rows = [row for row in range(size) if x[row] == x[row] and y[row] == y[row]]
        one, other = x[rows], y[rows]
        assert found.n == len(rows)
        if len(set(one)) < 2 or len(set(other)) < 2:
            assert found.note
            assert np.isnan([getattr(found, name).value for name in CORRELATIONS]).all()
            continue
        defined += 1
        for name, expected in zip(
            CORRELATIONS,
            (stats.kendalltau(one, other), stats.spearmanr(one, other), stats.pearsonr(one, other)),
            strict=True,
        ):
            estimate = getattr(found, name)
            values = [expected.statistic, expected.pvalue]  # p of ρ is NaN for two rows
            np.testing.assert_allclose([estimate.value, estimate.p], values, rtol=0, atol=1e-12)
            assert np.isnan(estimate.low)
    assert defined > 200


def test_intervals_are_those_of_each_pair_alone() -> None:
    # Scorers and targets with the same rows are drawn together; the result is that of each alone.
    rng = np.random.default_rng(0)
    x, y = np.stack([with_holes(rng, 40) for _ in range(3)]), np.stack([with_holes(rng, 40) for _ in range(2)])
    x[1] = np.where(np.isnan(x[0]), np.nan, rng.normal(size=40))
    case = np.arange(40) // 2
    counts = resample_clusters(20, 200, 0)
    found = correlate_all(x, y, case, counts)
    for one, other in np.ndindex(3, 2):
        [[alone]] = correlate_all(x[[one]], y[[other]], case, counts)
        for name in CORRELATIONS:
            np.testing.assert_allclose(getattr(found[one][other], name), getattr(alone, name), rtol=0, atol=1e-12)


def test_an_interval_holds_the_value_and_narrows_with_cases() -> None:
    widths = []
    for size in (30, 300):
        rng = np.random.default_rng(1)
        y = rng.normal(size=size)
        x = y + rng.normal(size=size)
        [[found]] = correlate_all(x[None], y[None], np.arange(size), resample_clusters(size, 500, 0))
        for name in CORRELATIONS:
            estimate = getattr(found, name)
            assert estimate.low < estimate.value < estimate.high
        widths.append(found.tau_b.high - found.tau_b.low)
    assert widths[1] < widths[0] / 2


def test_an_interval_covers_as_often_as_it_says() -> None:
    truth, hits = 2 / np.pi * np.arcsin(0.6), 0  # Kendall's tau of a normal pair with r = 0.6
    for seed in range(100):
        x, y = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 60).T
        [[found]] = correlate_all(x[None], y[None], np.arange(60), resample_clusters(60, 200, seed))
        hits += found.tau_b.low <= truth <= found.tau_b.high
    assert 88 <= hits <= 99


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "all scores are 1"),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0], "all values are 4"),
        ([1.0, np.nan, np.nan], [1.0, 2.0, 3.0], "fewer than two pairs have both a score and a value"),
        ([np.nan] * 3, [1.0, 2.0, 3.0], "fewer than two pairs have both a score and a value"),
    ],
)
def test_what_is_not_defined_is_told(x: list[float], y: list[float], note: str) -> None:
    [[found]] = correlate_all(np.array([x]), np.array([y]), np.arange(3), resample_clusters(3, 20, 0))
    assert found.note == note
    assert np.isnan(found.tau_b).all()


def test_one_case_gives_no_interval() -> None:
    [[found]] = correlate_all(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 4]]), np.zeros(3, dtype=np.int64), NONE)
    assert found.tau_b.value == 1
    assert (found.n_clusters, found.note) == (1, "one case only: no interval")


def test_nearly_constant_scores_raise_no_warning() -> None:
    correlations(np.array([1.0, 1.0 + 1e-15, 1.0]), np.array([1.0, 2.0, 3.0]))


def test_within_systems_style_tells_nothing() -> None:
    # A metric that knows the system alone agrees with people over all candidates, and not at all within systems.
    rng = np.random.default_rng(0)
    system = np.arange(200) % 2
    quality = 3.0 * system + rng.normal(size=200)
    style, real = system + rng.normal(0, 0.01, 200), quality + rng.normal(0, 0.3, 200)
    x, case = np.stack([style, real]), np.arange(200) // 2
    counts = resample_clusters(100, 300, 0)
    pooled, within = (
        correlate_all(x, quality[None], case, counts),
        correlate_within_systems(x, quality[None], case, system, counts),
    )
    assert pooled[0][0].tau_b.value > 0.4
    assert abs(within[0][0].tau_b.value) < 0.15
    assert within[0][0].tau_b.low < 0 < within[0][0].tau_b.high
    assert within[1][0].tau_b.value > 0.7


def test_within_systems_is_the_mean_by_their_rows() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=30)
    x[3] = np.nan
    system = np.r_[np.zeros(10), np.ones(15), [-1] * 5].astype(np.int64)
    [[found]] = correlate_within_systems(x[None], y[None], np.arange(30), system, np.ones((0, 30), dtype=np.int64))
    parts = [[0, 1, 2, *range(4, 10)], list(range(10, 25))]
    expected = [len(rows) * float(stats.spearmanr(x[rows], y[rows]).statistic) for rows in parts]
    assert abs(found.spearman.value - sum(expected) / 24) < 1e-12
    assert found.n == 24
    assert np.isnan(found.spearman.p)


def test_systems_in_which_nothing_is_defined_are_told() -> None:
    x, y, system = np.array([1.0, 2, 3, 1]), np.array([1.0, 2, 3, 1]), np.array([0, 0, 0, 1])
    [[found]] = correlate_within_systems(x[None], y[None], np.arange(4), system, resample_clusters(4, 20, 0))
    assert found.tau_b.value == 1
    assert found.note == "defined in 1 of 2 systems"
