import numpy as np
import pytest
from scipy import stats

from radreward.statistics import cluster_bootstrap as draws
from radreward.statistics import weighted_concordance as concordance
from radreward.statistics.cluster_bootstrap import bootstrap_correlations, percentile_interval, resample_clusters


def sample(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores and targets with ties, cases of different sizes in any order, and one draw of the cases."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 25))
    x = np.where(rng.random() < 0.5, rng.integers(0, 4, (1, size)), rng.normal(size=(1, size)))
    y = rng.integers(0, 5, (1, size)).astype(float)
    case = np.unique(rng.integers(0, size, size), return_inverse=True)[1]
    return x, y, case, resample_clusters(int(case.max()) + 1, 1, seed)


@pytest.mark.parametrize("begin", range(0, 1000, 250))
def test_draws_are_as_scipy_has_them_of_the_rows_repeated(begin: int) -> None:
    defined = 0
    for seed in range(begin, begin + 250):
        x, y, case, counts = sample(seed)
        found = bootstrap_correlations(x, y, case, counts)
        rows = np.repeat(np.arange(len(case)), counts[0][case])
        left, right = x[0][rows], y[0][rows]
        values = [value[0, 0, 0] for value in found]
        if len(set(left)) < 2 or len(set(right)) < 2:
            assert np.isnan(values).all()
            continue
        defined += 1
        expected = stats.kendalltau(left, right), stats.spearmanr(left, right), stats.pearsonr(left, right)
        np.testing.assert_allclose(values, [entry.statistic for entry in expected], rtol=0, atol=1e-12)
    assert defined > 200


def test_all_scorers_and_targets_at_once_are_each_alone() -> None:
    rng = np.random.default_rng(0)
    x, y, case = rng.integers(0, 5, (3, 30)).astype(float), rng.normal(size=(2, 30)), np.arange(30) // 3
    counts = resample_clusters(10, 20, 0)
    found = bootstrap_correlations(x, y, case, counts)
    for one, other in np.ndindex(3, 2):
        alone = bootstrap_correlations(x[[one]], y[[other]], case, counts)
        for value, expected in zip(found, alone, strict=True):
            np.testing.assert_allclose(value[:, one, other], expected[:, 0, 0], rtol=0, atol=1e-12)


def test_rows_in_blocks_and_draws_in_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y, case = rng.integers(0, 9, (3, 60)).astype(float), rng.normal(size=(2, 60)), rng.integers(0, 20, 60)
    case = np.unique(case, return_inverse=True)[1]
    counts = resample_clusters(int(case.max()) + 1, 50, 1)
    whole = bootstrap_correlations(x, y, case, counts)
    for module in (draws, concordance):
        monkeypatch.setattr(module, "CELLS", 700)
    monkeypatch.setattr(concordance, "_WHOLE", 0)
    monkeypatch.setattr(concordance, "_SIDE", 8)
    for value, expected in zip(bootstrap_correlations(x, y, case, counts), whole, strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


def test_as_many_cases_are_drawn_as_there_are() -> None:
    counts = resample_clusters(7, 100, 3)
    assert (counts.sum(1) == 7).all()
    assert (counts == resample_clusters(7, 100, 3)).all()
    assert (counts != resample_clusters(7, 100, 4)).any()


def test_rows_of_a_case_are_drawn_together() -> None:
    # Copies of a row in its case tell nothing new: the interval is that of the rows without their copies.
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


def test_an_interval_is_of_the_draws_in_which_a_statistic_is_defined() -> None:
    samples = np.stack([np.r_[np.arange(101.0), np.nan], np.full(102, np.nan)], 1)
    low, high = percentile_interval(samples)
    np.testing.assert_array_equal(low, [2.5, np.nan])
    np.testing.assert_array_equal(high, [97.5, np.nan])


def test_draws_without_any_of_the_rows_are_not_defined() -> None:
    found = bootstrap_correlations(np.ones((1, 2)), np.ones((1, 2)), np.array([0, 1]), np.zeros((1, 2), dtype=np.int64))
    assert all(np.isnan(value).all() for value in found)
