import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from radreward.meta_evaluation.statistics.count_agreement import calibration_bins, count_agreement
from radreward.meta_evaluation.statistics.inter_rater import inter_rater_agreement, wilcoxon_p_value
from radreward.meta_evaluation.statistics.system_level import system_differences, system_means, system_rank_agreement
from radreward.statistics.cluster_bootstrap import resample_clusters
from radreward.statistics.paired_tests import holm


def test_raters_against_the_others_and_every_two() -> None:
    rng = np.random.default_rng(0)
    by_rater = rng.integers(0, 4, (3, 25)).astype(float)
    by_rater[1, :5] = np.nan
    found = {(one.kind, one.rater_a, one.rater_b): one for one in inter_rater_agreement(by_rater, ["x", "y", "z"])}
    assert len(found) == 6
    two = found["pairwise", "x", "y"]
    left, right = by_rater[0, 5:], by_rater[1, 5:]
    assert two.n == 20
    assert two.tau_b == pytest.approx(stats.kendalltau(left, right).statistic, abs=1e-12)
    assert two.kappa == pytest.approx(cohen_kappa_score(left, right))
    assert (two.mae, two.difference) == (np.abs(left - right).mean(), (left - right).mean())
    assert two.sd == pytest.approx(np.abs(left - right).std(ddof=1))
    assert two.p_wilcoxon == pytest.approx(stats.wilcoxon(left, right).pvalue)
    against = found["against_others", "x", None]
    others = np.r_[by_rater[2, :5], by_rater[1:, 5:].mean(0)]
    assert against.n == 25
    assert against.spearman == pytest.approx(stats.spearmanr(by_rater[0], others).statistic, abs=1e-12)
    assert np.isnan(against.kappa)


def test_one_rater_has_nobody_to_agree_with() -> None:
    assert inter_rater_agreement(np.ones((1, 5)), ["x"]) == []


def test_raters_without_a_pair_in_common() -> None:
    *_, two = inter_rater_agreement(np.array([[1.0, np.nan], [np.nan, 2.0]]), ["x", "y"])
    assert two.n == 0
    assert np.isnan([two.tau_b, two.kappa, two.mae, two.sd, two.p_wilcoxon]).all()


def test_values_that_are_no_classes_have_no_kappa() -> None:
    *_, two = inter_rater_agreement(np.random.default_rng(0).normal(size=(2, 30)), ["x", "y"])
    assert np.isnan(two.kappa)


def test_equal_values_have_no_wilcoxon() -> None:
    assert np.isnan(wilcoxon_p_value(np.ones(4), np.ones(4)))


def test_counts_against_the_mean_rater() -> None:
    counted, known = np.array([0.4, 1.2, 2.5, np.nan, 1.0]), np.array([0.0, 1.5, 3.0, 1.0, np.nan])
    found = count_agreement(counted, known)
    apart = np.array([0.4, 0.3, 0.5])
    assert found.n == 3
    assert [found.mae, found.sd] == pytest.approx([0.4, apart.std(ddof=1)])
    assert found.accuracy == pytest.approx(2 / 3)  # 0 and 0, 1 and 2, 3 and 3: halves go up
    assert count_agreement(counted[3:], known[3:]).n == 0


def test_calibration_bins_hold_every_pair_once() -> None:
    rng = np.random.default_rng(0)
    counted, known = rng.integers(0, 5, 200) / 2, rng.integers(0, 4, 200).astype(float)
    bins = calibration_bins(counted, known)
    sizes = [size for *_, size in bins]
    assert sum(sizes) == 200
    assert sum(mean * size for mean, _, size in bins) == pytest.approx(counted.sum())
    assert sum(mean * size for _, mean, size in bins) == pytest.approx(known.sum())
    assert [entry[0] for entry in bins] == sorted(entry[0] for entry in bins)
    assert calibration_bins(np.zeros(3), np.ones(3)) == [[0.0, 1.0, 3]]


def test_systems_by_their_means_and_against_each_other() -> None:
    rng = np.random.default_rng(0)
    case, system = np.repeat(np.arange(40), 3), np.tile([0, 1, 2], 40)
    scores = rng.normal(size=120) + np.array([0.0, 2.0, 2.0])[system]
    scores[0] = np.nan
    counts = resample_clusters(40, 400, 0)
    means = system_means(scores, case, system, ["a", "b", "c"], counts)
    for number, found in enumerate(means):
        values = scores[(system == number) & ~np.isnan(scores)]
        assert found.n == len(values)
        assert found.mean == pytest.approx(values.mean())
        assert found.low < found.mean < found.high
        half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        assert found.high - found.low == pytest.approx(2 * half, rel=0.2)
    apart = system_differences(scores, case, system, ["a", "b", "c"], counts)
    assert [entry[:3] for entry in apart] == [
        ("a", "b", 39),
        ("a", "c", 39),
        ("b", "c", 40),
    ]
    assert apart[0].difference == pytest.approx((scores[system == 0] - scores[system == 1])[1:].mean())
    assert apart[0].high < 0
    assert apart[0].p < 0.001 < 0.05 < apart[2].p
    assert [entry.p_holm for entry in apart] == holm([entry.p for entry in apart])


def test_systems_without_a_case_in_common() -> None:
    [found] = system_differences(np.ones(2), np.array([0, 1]), np.array([0, 1]), ["a", "b"], resample_clusters(2, 5, 0))
    assert found.n_clusters == 0
    assert np.isnan([found.difference, found.p, found.p_holm]).all()


def test_a_system_without_scores_has_no_mean() -> None:
    [found] = system_means(np.array([np.nan]), np.array([0]), np.array([0]), ["a"], resample_clusters(1, 5, 0))
    assert found.n == 0
    assert np.isnan([found.mean, found.low]).all()


def test_rank_agreement() -> None:
    assert system_rank_agreement(np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 9, 1])) == (1.0, 3)
    assert np.isnan(system_rank_agreement(np.array([1.0, 1.0]), np.array([1.0, 2.0]))[0])
