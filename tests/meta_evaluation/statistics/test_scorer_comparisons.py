import numpy as np
import pytest
from scipy import stats

from radreward.meta_evaluation.statistics import scorer_comparisons
from radreward.meta_evaluation.statistics.scorer_comparisons import _CommonRows, compare_scorers
from radreward.statistics import weighted_concordance as concordance
from radreward.statistics.cluster_bootstrap import resample_clusters
from radreward.statistics.paired_tests import holm


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("max_dense_rows", "min_block_rows"), [(2_000, 256), (0, 6)])
def test_permuted_differences_equal_scipy_on_swapped_ranks(
    seed: int, max_dense_rows: int, min_block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concordance, "_MAX_DENSE_ROWS", max_dense_rows)
    monkeypatch.setattr(concordance, "_MIN_BLOCK_ROWS", min_block_rows)
    rng = np.random.default_rng(seed)
    a, b, y = rng.integers(0, 6, 30).astype(float), rng.normal(size=30), rng.integers(0, 4, 30).astype(float)
    cluster = np.unique(rng.integers(0, 12, 30), return_inverse=True)[1]
    resample_counts = np.ones((1, int(cluster.max()) + 1), dtype=np.int64)
    rows = _CommonRows(np.stack([a, b]), y, cluster, resample_counts, seed, 15)
    ranks = stats.rankdata(a), stats.rankdata(b)
    differences = rows._permuted_differences(0, 1, ranks, rows._form(*ranks), 0)
    assert differences.shape == (15,)
    for unswapped, difference in zip(rows.unswapped_clusters(0).T, differences, strict=True):
        is_unswapped = unswapped[cluster] == 1
        taus = [
            stats.kendalltau(np.where(is_unswapped, own, other), y).statistic
            for own, other in (ranks, tuple(reversed(ranks)))
        ]
        assert abs(difference - (taus[0] - taus[1])) < 1e-12


def test_compare_scorers_every_pair_and_target_equals_scipy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 50)), rng.normal(size=(2, 50))
    x[0, 3], y[1, 5] = np.nan, np.nan
    comparisons = compare_scorers(x, y, np.arange(50) // 2, resample_clusters(25, 100, 0), n_permutations=99)
    assert len(comparisons) == 12
    for entry in comparisons:
        rows = ~np.isnan(x[entry.scorer_a] + x[entry.scorer_b] + y[entry.target])
        assert entry.n == rows.sum()
        a, b = (stats.kendalltau(x[i][rows], y[entry.target][rows]).statistic for i in (entry.scorer_a, entry.scorer_b))
        assert entry.difference == pytest.approx(a - b, abs=1e-12)
    for target in range(2):
        family = [entry for entry in comparisons if entry.target == target]
        assert [entry.p_holm for entry in family] == holm([entry.p_permutation for entry in family])


def test_compare_scorers_equal_scorers_do_not_differ_and_a_better_one_does() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    good, noise = y + rng.normal(0, 0.3, 80), rng.normal(size=80)
    x, counts = np.stack([good, 10 * good - 3, noise]), resample_clusters(80, 300, 0)
    same, better, _ = compare_scorers(x, y[None], np.arange(80), counts, n_permutations=999)
    assert (same.difference, same.low, same.high) == (0, 0, 0)
    assert same.p_permutation == 1
    assert better.low > 0
    assert better.p_holm < 0.02


def test_compare_scorers_equally_good_scorers_test_has_its_level() -> None:
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.repeat(rng.normal(size=20), 2) + rng.normal(0, 0.5, 40)
        x = y + rng.normal(size=(2, 40))
        [comparison] = compare_scorers(
            x, y[None], np.arange(40) // 2, resample_clusters(20, 5, seed), seed, n_permutations=99
        )
        rejected += comparison.p_permutation <= 0.1
    assert 0.04 <= rejected / 200 <= 0.17


def test_compare_scorers_constant_scores_are_undefined() -> None:
    x, y = np.stack([np.ones(5), np.arange(5.0)]), np.arange(5.0)
    [comparison] = compare_scorers(x, y[None], np.arange(5), resample_clusters(5, 20, 0))
    assert np.isnan([comparison.difference, comparison.low, comparison.p_permutation, comparison.p_holm]).all()


def test_compare_scorers_many_comparisons_large_difference_stays_significant() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    x = np.stack([y + rng.normal(0, 0.2, 60), *rng.normal(size=(11, 60))])
    comparisons = compare_scorers(x, y[None], np.arange(60), np.ones((5, 60), dtype=np.int64))
    best = [entry for entry in comparisons if entry.scorer_a == 0]
    assert {entry.p_permutation for entry in best} == {1 / 10_001}
    assert max(entry.p_holm for entry in best) < 0.01
    assert min(entry.p_holm for entry in comparisons if entry.scorer_a != 0) > 0.05


def test_compare_scorers_early_stop_keeps_the_p_value_of_the_first_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=40)
    x, counts = y + rng.normal(size=(2, 40)), np.ones((1, 40), dtype=np.int64)
    [stopped] = compare_scorers(x, y[None], np.arange(40), counts)
    [first_block] = compare_scorers(x, y[None], np.arange(40), counts, n_permutations=1_000)
    assert stopped.p_permutation == first_block.p_permutation > 0.1
    monkeypatch.setattr(scorer_comparisons, "_MAX_EXCEEDANCES", 10_001)
    [full] = compare_scorers(x, y[None], np.arange(40), counts)
    assert full.p_permutation == pytest.approx(stopped.p_permutation, abs=0.05)
