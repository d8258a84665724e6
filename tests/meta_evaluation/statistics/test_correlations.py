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

NO_RESAMPLES = np.ones((0, 1), dtype=np.int64)


def with_missing(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    values = rng.integers(0, 6, size) + (rng.random() < 0.5) * rng.normal(size=size)
    return np.where(rng.random(size) < 0.15, np.nan, values)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_correlate_all_missing_values_equals_scipy_on_complete_rows(start: int) -> None:
    defined = 0
    for seed in range(start, start + 100):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 40))
        x, y = with_missing(rng, size), with_missing(rng, size)
        [[agreement]] = correlate_all(x[None], y[None], np.arange(size), np.ones((0, size), dtype=np.int64))
        rows = [row for row in range(size) if x[row] == x[row] and y[row] == y[row]]
        x_rows, y_rows = x[rows], y[rows]
        assert agreement.n == len(rows)
        if len(set(x_rows)) < 2 or len(set(y_rows)) < 2:
            assert agreement.note
            assert np.isnan([getattr(agreement, name).value for name in CORRELATIONS]).all()
            continue
        defined += 1
        for name, expected in zip(
            CORRELATIONS,
            [test(x_rows, y_rows) for test in (stats.kendalltau, stats.spearmanr, stats.pearsonr)],
            strict=True,
        ):
            estimate = getattr(agreement, name)
            values = [expected.statistic, expected.pvalue]  # p of ρ is NaN for two rows
            np.testing.assert_allclose([estimate.value, estimate.p], values, rtol=0, atol=1e-12)
            assert np.isnan(estimate.low)
    assert defined > 80


def test_correlate_all_intervals_equal_those_of_single_pairs() -> None:
    # Scorers and targets with the same rows are resampled together; the result is that of each pair.
    rng = np.random.default_rng(0)
    x, y = np.stack([with_missing(rng, 40) for _ in range(3)]), np.stack([with_missing(rng, 40) for _ in range(2)])
    x[1] = np.where(np.isnan(x[0]), np.nan, rng.normal(size=40))
    cluster = np.arange(40) // 2
    counts = resample_clusters(20, 200, 0)
    agreements = correlate_all(x, y, cluster, counts)
    for i, j in np.ndindex(3, 2):
        [[single]] = correlate_all(x[[i]], y[[j]], cluster, counts)
        for name in CORRELATIONS:
            np.testing.assert_allclose(getattr(agreements[i][j], name), getattr(single, name), rtol=0, atol=1e-12)


def test_correlate_all_interval_contains_the_value_and_narrows_with_clusters() -> None:
    widths = []
    for size in (30, 300):
        rng = np.random.default_rng(1)
        y = rng.normal(size=size)
        x = y + rng.normal(size=size)
        [[agreement]] = correlate_all(x[None], y[None], np.arange(size), resample_clusters(size, 500, 0))
        for name in CORRELATIONS:
            estimate = getattr(agreement, name)
            assert estimate.low < estimate.value < estimate.high
        widths.append(agreement.tau_b.high - agreement.tau_b.low)
    assert widths[1] < widths[0] / 2


def test_correlate_all_interval_has_its_coverage() -> None:
    truth, covered = 2 / np.pi * np.arcsin(0.6), 0  # Kendall's tau of a normal pair with r = 0.6
    for seed in range(100):
        x, y = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 60).T
        [[agreement]] = correlate_all(x[None], y[None], np.arange(60), resample_clusters(60, 200, seed))
        covered += agreement.tau_b.low <= truth <= agreement.tau_b.high
    assert 88 <= covered <= 99


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "all scores are 1"),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0], "all target values are 4"),
        ([1.0, np.nan, np.nan], [1.0, 2.0, 3.0], "fewer than two pairs have both a score and a target value"),
        ([np.nan] * 3, [1.0, 2.0, 3.0], "fewer than two pairs have both a score and a target value"),
    ],
)
def test_correlate_all_undefined_correlation_has_a_note(x: list[float], y: list[float], note: str) -> None:
    [[agreement]] = correlate_all(np.array([x]), np.array([y]), np.arange(3), resample_clusters(3, 20, 0))
    assert agreement.note == note
    assert np.isnan(agreement.tau_b).all()


def test_correlate_all_one_cluster_has_no_interval() -> None:
    [[agreement]] = correlate_all(
        np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 4]]), np.zeros(3, dtype=np.int64), NO_RESAMPLES
    )
    assert agreement.tau_b.value == 1
    assert (agreement.n_clusters, agreement.note) == (1, "only one case: no interval")


def test_correlations_nearly_constant_scores_raise_no_warning() -> None:
    correlations(np.array([1.0, 1.0 + 1e-15, 1.0]), np.array([1.0, 2.0, 3.0]))


def test_correlate_within_systems_system_style_has_no_effect() -> None:
    # A metric that depends on the system only agrees with raters over all candidates, but not within systems.
    rng = np.random.default_rng(0)
    system = np.arange(200) % 2
    quality = 3.0 * system + rng.normal(size=200)
    style, real = system + rng.normal(0, 0.01, 200), quality + rng.normal(0, 0.3, 200)
    x, cluster = np.stack([style, real]), np.arange(200) // 2
    counts = resample_clusters(100, 300, 0)
    pooled, within = (
        correlate_all(x, quality[None], cluster, counts),
        correlate_within_systems(x, quality[None], cluster, system, counts),
    )
    assert pooled[0][0].tau_b.value > 0.4
    assert abs(within[0][0].tau_b.value) < 0.15
    assert within[0][0].tau_b.low < 0 < within[0][0].tau_b.high
    assert within[1][0].tau_b.value > 0.7


def test_correlate_within_systems_is_the_mean_weighted_by_rows() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=30)
    x[3] = np.nan
    system = np.r_[np.zeros(10), np.ones(15), [-1] * 5].astype(np.int64)
    [[agreement]] = correlate_within_systems(x[None], y[None], np.arange(30), system, np.ones((0, 30), dtype=np.int64))
    parts = [[0, 1, 2, *range(4, 10)], list(range(10, 25))]
    expected = [len(rows) * float(stats.spearmanr(x[rows], y[rows]).statistic) for rows in parts]
    assert abs(agreement.spearman.value - sum(expected) / 24) < 1e-12
    assert agreement.n == 24
    assert np.isnan(agreement.spearman.p)


def test_correlate_within_systems_undefined_systems_are_noted() -> None:
    x, y, system = np.array([1.0, 2, 3, 1]), np.array([1.0, 2, 3, 1]), np.array([0, 0, 0, 1])
    [[agreement]] = correlate_within_systems(x[None], y[None], np.arange(4), system, resample_clusters(4, 20, 0))
    assert agreement.tau_b.value == 1
    assert agreement.note == "defined in 1 of 2 systems"
