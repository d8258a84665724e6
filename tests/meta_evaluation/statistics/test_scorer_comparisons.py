import numpy as np
import pytest
from scipy import stats

from radreward.meta_evaluation.statistics.scorer_comparisons import _CommonRows, compare_scorers
from radreward.statistics import weighted_concordance as concordance
from radreward.statistics.cluster_bootstrap import resample_clusters
from radreward.statistics.paired_tests import holm


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("whole", "side"), [(2_000, 256), (0, 6)])
def test_exchanged_is_what_scipy_says_after_the_ranks_are_swapped(
    seed: int, whole: int, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concordance, "_WHOLE", whole)
    monkeypatch.setattr(concordance, "_SIDE", side)
    rng = np.random.default_rng(seed)
    a, b, y = rng.integers(0, 6, 30).astype(float), rng.normal(size=30), rng.integers(0, 4, 30).astype(float)
    case = np.unique(rng.integers(0, 12, 30), return_inverse=True)[1]
    swaps = rng.integers(0, 2, (15, int(case.max()) + 1))
    rows = _CommonRows(np.stack([a, b]), y, case, swaps, swaps.astype(np.uint8))
    for keeps, found in zip(swaps, rows.permuted_differences(0, 1), strict=True):
        keep = keeps[case] == 1
        one = np.where(keep, stats.rankdata(a), stats.rankdata(b))
        other = np.where(keep, stats.rankdata(b), stats.rankdata(a))
        expected = stats.kendalltau(one, y).statistic - stats.kendalltau(other, y).statistic
        assert abs(found - expected) < 1e-12


def test_every_two_scorers_meet_on_every_target() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 50)), rng.normal(size=(2, 50))
    x[0, 3], y[1, 5] = np.nan, np.nan
    found = compare_scorers(x, y, np.arange(50) // 2, resample_clusters(25, 100, 0))
    assert len(found) == 12
    for entry in found:
        rows = ~np.isnan(x[entry.scorer_a] + x[entry.scorer_b] + y[entry.target])
        assert entry.n == rows.sum()
        taus = [stats.kendalltau(x[i][rows], y[entry.target][rows]).statistic for i in (entry.scorer_a, entry.scorer_b)]
        assert entry.difference == pytest.approx(taus[0] - taus[1], abs=1e-12)
    for target in range(2):
        family = [entry for entry in found if entry.target == target]
        assert [entry.p_holm for entry in family] == holm([entry.p_tail for entry in family])


def test_equal_scorers_do_not_differ_and_a_better_one_does() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    good, noise = y + rng.normal(0, 0.3, 80), rng.normal(size=80)
    found = compare_scorers(
        np.stack([good, 10 * good - 3, noise]), y[None], np.arange(80), resample_clusters(80, 300, 0)
    )
    same, better, _ = found
    assert (same.difference, same.low, same.high) == (0, 0, 0)
    assert same.p_bootstrap == same.p_permutation == 1
    assert better.low > 0
    assert max(better.p_bootstrap, better.p_holm) < 0.02


def test_the_tests_hold_their_level_where_metrics_are_worth_the_same() -> None:
    below = np.zeros(2)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.repeat(rng.normal(size=20), 2) + rng.normal(0, 0.5, 40)
        x = y + rng.normal(size=(2, 40))
        [found] = compare_scorers(x, y[None], np.arange(40) // 2, resample_clusters(20, 99, seed), seed)
        below += np.array([found.p_bootstrap, found.p_permutation]) <= 0.1
    assert (below / 200 <= 0.17).all()
    assert below[1] / 200 >= 0.04


def test_constant_scores_have_no_contest() -> None:
    x, y = np.stack([np.ones(5), np.arange(5.0)]), np.arange(5.0)
    [found] = compare_scorers(x, y[None], np.arange(5), resample_clusters(5, 20, 0))
    assert np.isnan([found.difference, found.low, found.p_permutation, found.p_holm]).all()


def test_among_many_contests_a_large_difference_is_still_told() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    x = np.stack([y + rng.normal(0, 0.2, 60), *rng.normal(size=(11, 60))])
    found = compare_scorers(x, y[None], np.arange(60), np.ones((200, 60), dtype=np.int64))
    best = [entry for entry in found if entry.scorer_a == 0]
    assert min(entry.p_permutation for entry in best) * len(found) > 0.3  # all that 200 exchanges could say
    assert max(entry.p_holm for entry in best) < 1e-3
    equal = [entry for entry in found if entry.scorer_a != 0]
    assert min(entry.p_holm for entry in equal) > 0.05
    assert all(entry.p_tail <= entry.p_permutation for entry in found)
