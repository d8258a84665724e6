import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from radreward.meta_evaluation.statistics.inter_rater import inter_rater_agreement, wilcoxon


def test_inter_rater_agreement_against_mean_and_pairwise_equals_scipy() -> None:
    rng = np.random.default_rng(0)
    by_rater = rng.integers(0, 4, (3, 25)).astype(float)
    by_rater[1, :5] = np.nan
    agreements = inter_rater_agreement(by_rater, ["x", "y", "z"])
    by_pair = {(entry.kind, entry.rater_a, entry.rater_b): entry for entry in agreements}
    assert len(by_pair) == 6
    pair = by_pair["pairwise", "x", "y"]
    x, y = by_rater[0, 5:], by_rater[1, 5:]
    assert pair.n == 20
    assert pair.tau_b == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert pair.kappa == pytest.approx(cohen_kappa_score(x, y))
    assert (pair.mae, pair.difference) == (np.abs(x - y).mean(), (x - y).mean())
    assert pair.std == pytest.approx(np.abs(x - y).std(ddof=1))
    assert pair.p_wilcoxon == pytest.approx(stats.wilcoxon(x, y).pvalue)
    against_mean = by_pair["against_mean", "x", None]
    others = np.r_[by_rater[2, :5], by_rater[1:, 5:].mean(0)]
    assert against_mean.n == 25
    assert against_mean.spearman == pytest.approx(stats.spearmanr(by_rater[0], others).statistic, abs=1e-12)
    assert np.isnan(against_mean.kappa)


def test_inter_rater_agreement_one_rater_is_empty() -> None:
    assert inter_rater_agreement(np.ones((1, 5)), ["x"]) == []


def test_inter_rater_agreement_no_common_row_is_undefined() -> None:
    *_, pair = inter_rater_agreement(np.array([[1.0, np.nan], [np.nan, 2.0]]), ["x", "y"])
    assert pair.n == 0
    assert np.isnan([pair.tau_b, pair.kappa, pair.mae, pair.std, pair.w_wilcoxon, pair.p_wilcoxon]).all()


def test_inter_rater_agreement_continuous_ratings_have_no_kappa() -> None:
    *_, pair = inter_rater_agreement(np.random.default_rng(0).normal(size=(2, 30)), ["x", "y"])
    assert np.isnan(pair.kappa)


def test_wilcoxon_equal_values_is_undefined() -> None:
    assert np.isnan(wilcoxon(np.ones(4), np.ones(4))).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_wilcoxon_w_is_the_smaller_sum_of_ranks(pairs: list[tuple[int, int]]) -> None:
    """W by its definition: ranks of the absolute differences that are not 0, ties averaged."""
    differences = [a - b for a, b in pairs if a != b]
    sizes = sorted(map(abs, differences))
    rank = {size: np.mean([place for place, other in enumerate(sizes, 1) if other == size]) for size in sizes}
    sums = [sum(rank[abs(d)] for d in differences if d * sign > 0) for sign in (1, -1)]
    x, y = np.array(pairs, dtype=float).T
    w, p = wilcoxon(x, y)
    if differences:
        assert w == pytest.approx(min(sums))
        assert 0 <= p <= 1
    else:
        assert np.isnan([w, p]).all()
