import numpy as np
import pytest

from radreward.meta_evaluation.statistics.system_level import system_differences, system_means, system_rank_agreement
from radreward.statistics.cluster_bootstrap import resample_clusters
from radreward.statistics.paired_tests import holm


def test_system_means_and_differences_match_direct_computation() -> None:
    rng = np.random.default_rng(0)
    cluster, system = np.repeat(np.arange(40), 3), np.tile([0, 1, 2], 40)
    scores = rng.normal(size=120) + np.array([0.0, 2.0, 2.0])[system]
    scores[0] = np.nan
    counts = resample_clusters(40, 400, 0)
    for index, mean in enumerate(system_means(scores, cluster, system, ["a", "b", "c"], counts)):
        values = scores[(system == index) & ~np.isnan(scores)]
        assert mean.n == len(values)
        assert mean.mean == pytest.approx(values.mean())
        assert mean.low < mean.mean < mean.high
        half_width = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        assert mean.high - mean.low == pytest.approx(2 * half_width, rel=0.2)
    differences = system_differences(scores, cluster, system, ["a", "b", "c"], counts)
    assert [(entry.system_a, entry.system_b, entry.n_clusters) for entry in differences] == [
        ("a", "b", 39),
        ("a", "c", 39),
        ("b", "c", 40),
    ]
    assert differences[0].difference == pytest.approx((scores[system == 0] - scores[system == 1])[1:].mean())
    assert differences[0].high < 0
    assert differences[0].p < 0.001 < 0.05 < differences[2].p
    assert [entry.p_holm for entry in differences] == holm([entry.p for entry in differences])


def test_system_differences_no_common_cluster_is_undefined() -> None:
    cluster = system = np.array([0, 1])
    [entry] = system_differences(np.ones(2), cluster, system, ["a", "b"], resample_clusters(2, 5, 0))
    assert entry.n_clusters == 0
    assert np.isnan([entry.difference, entry.p, entry.p_holm]).all()


def test_system_means_system_without_scores_is_undefined() -> None:
    [mean] = system_means(np.array([np.nan]), np.array([0]), np.array([0]), ["a"], resample_clusters(1, 5, 0))
    assert mean.n == 0
    assert np.isnan([mean.mean, mean.low]).all()


def test_system_rank_agreement_ignores_missing_and_constant_means() -> None:
    assert system_rank_agreement(np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 9, 1])) == (1.0, 3)
    assert np.isnan(system_rank_agreement(np.array([1.0, 1.0]), np.array([1.0, 2.0]))[0])
