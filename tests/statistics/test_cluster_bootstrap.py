"""Cluster bootstrap against scipy on repeated rows."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from radreward.statistics import cluster_bootstrap, weighted_concordance
from radreward.statistics.cluster_bootstrap import (
    bootstrap_auc,
    bootstrap_correlations,
    percentile_interval,
    resample_clusters,
)


def sample(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores and targets with ties, clusters of different sizes in any order, and i resample."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 25))
    x = np.where(rng.random() < 0.5, rng.integers(0, 4, (1, size)), rng.normal(size=(1, size)))
    y = rng.integers(0, 5, (1, size)).astype(float)
    cluster = np.unique(rng.integers(0, size, size), return_inverse=True)[1]
    return x, y, cluster, resample_clusters(int(cluster.max()) + 1, 1, seed)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_bootstrap_correlations_match_scipy_on_repeated_rows(start: int) -> None:
    defined = 0
    for seed in range(start, start + 100):
        x, y, cluster, counts = sample(seed)
        result = bootstrap_correlations(x, y, cluster, counts)
        rows = np.repeat(np.arange(len(cluster)), counts[0][cluster])
        left, right = x[0][rows], y[0][rows]
        values = [value[0, 0, 0] for value in result]
        if len(set(left)) < 2 or len(set(right)) < 2:
            assert np.isnan(values).all()
            continue
        defined += 1
        expected = stats.kendalltau(left, right), stats.spearmanr(left, right), stats.pearsonr(left, right)
        np.testing.assert_allclose(values, [entry.statistic for entry in expected], rtol=0, atol=1e-12)
    assert defined > 80


def test_bootstrap_auc_equals_sklearn_on_repeated_rows() -> None:
    defined = 0
    for seed in range(120):
        x, y, cluster, counts = sample(seed)
        has_error = y[0] < 2
        [value] = bootstrap_auc(x[0], has_error, cluster, counts)
        rows = np.repeat(np.arange(len(cluster)), counts[0][cluster])
        if len(set(has_error[rows])) < 2:
            assert np.isnan(value)
            continue
        defined += 1
        assert value == pytest.approx(roc_auc_score(~has_error[rows], x[0][rows]), abs=1e-12)
    assert defined > 40


def test_bootstrap_correlations_computed_pairwise() -> None:
    rng = np.random.default_rng(0)
    x, y, cluster = rng.integers(0, 5, (3, 30)).astype(float), rng.normal(size=(2, 30)), np.arange(30) // 3
    counts = resample_clusters(10, 20, 0)
    result = bootstrap_correlations(x, y, cluster, counts)
    for i, j in np.ndindex(3, 2):
        single = bootstrap_correlations(x[[i]], y[[j]], cluster, counts)
        for value, expected in zip(result, single, strict=True):
            np.testing.assert_allclose(value[:, i, j], expected[:, 0, 0], rtol=0, atol=1e-12)


def test_bootstrap_correlations_independent_of_chunk_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y, cluster = rng.integers(0, 9, (3, 60)).astype(float), rng.normal(size=(2, 60)), rng.integers(0, 20, 60)
    cluster = np.unique(cluster, return_inverse=True)[1]
    counts = resample_clusters(int(cluster.max()) + 1, 50, 1)
    expected_all = bootstrap_correlations(x, y, cluster, counts)
    for module in (cluster_bootstrap, weighted_concordance):
        monkeypatch.setattr(module, "MAX_ARRAY_ELEMENTS", 700)
    monkeypatch.setattr(weighted_concordance, "_MAX_DENSE_ROWS", 0)
    monkeypatch.setattr(weighted_concordance, "_MIN_BLOCK_ROWS", 8)
    for value, expected in zip(bootstrap_correlations(x, y, cluster, counts), expected_all, strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


def test_resample_has_as_many_clusters_as_the_sample() -> None:
    counts = resample_clusters(7, 100, 3)
    assert (counts.sum(1) == 7).all()
    assert (counts == resample_clusters(7, 100, 3)).all()
    assert (counts != resample_clusters(7, 100, 4)).any()


def test_rows_of_cluster_resampled_together() -> None:
    # Copies of a row within its cluster add no information, so the interval does not change.
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    x = y + rng.normal(size=30)
    counts = resample_clusters(30, 400, 0)
    once = bootstrap_correlations(x[None], y[None], np.arange(30), counts)
    copied = bootstrap_correlations(np.tile(x, 5)[None], np.tile(y, 5)[None], np.tile(np.arange(30), 5), counts)
    np.testing.assert_allclose(
        percentile_interval(copied.pearson), percentile_interval(once.pearson), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(percentile_interval(copied.tau_b), percentile_interval(once.tau_b), rtol=0, atol=1e-12)


def test_percentile_interval_ignores_undefined_resamples() -> None:
    samples = np.stack([np.r_[np.arange(101.0), np.nan], np.full(102, np.nan)], 1)
    low, high = percentile_interval(samples)
    np.testing.assert_array_equal(low, [2.5, np.nan])
    np.testing.assert_array_equal(high, [97.5, np.nan])


def test_resample_without_rows_is_nan() -> None:
    result = bootstrap_correlations(
        np.ones((1, 2)), np.ones((1, 2)), np.array([0, 1]), np.zeros((1, 2), dtype=np.int64)
    )
    assert all(np.isnan(value).all() for value in result)
