"""Nested cross-validation: references are never split, learnable targets are learned, invalid data are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from radreward.errors import InputError
from radreward.systems.sentence_eval.cross_validation import (
    RAW_OVERALL,
    RegressionData,
    fit_best,
    nested_cross_validation,
    regression_data,
    select_params,
    split_by_reference,
)
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.judgement_io import JudgedPair
from radreward.systems.sentence_eval.regressors import default_param_grids


def learnable_data(rows: int = 240, seed: int = 0) -> RegressionData:
    rng = np.random.default_rng(seed)
    features = np.hstack([rng.dirichlet(np.ones(4), rows), rng.dirichlet(np.ones(4), rows)])
    target = np.round(6 * features[:, 2] - 4 * features[:, 7])
    return RegressionData(features, features[:, 2], target, np.arange(rows) // 3, np.arange(rows).astype(str))


@given(st.lists(st.integers(0, 9), min_size=4, max_size=60), st.integers(2, 4), st.integers(0, 3))
def test_split_by_reference_holds_out_every_reference_once(ids: list[int], folds: int, seed: int) -> None:
    reference_ids = np.array(ids)
    tested = []
    for train, test in split_by_reference(reference_ids, folds, seed):
        assert not set(reference_ids[train]) & set(reference_ids[test])
        assert len(train) + len(test) == len(reference_ids)
        tested += test.tolist()
    assert sorted(tested) == list(range(len(reference_ids)))


def test_nested_cross_validation_learns_a_learnable_target() -> None:
    data = learnable_data()
    finished: list[str] = []
    names = ("decision-tree", "svr")
    grids = {name: default_param_grids()[name] for name in names}
    results = nested_cross_validation(data, grids, folds=3, inner_folds=2, on_progress=finished.append)
    assert [entry.name for entry in results] == [RAW_OVERALL, *names]
    assert finished == list(names)
    raw, tree, svr = (entry.tau_b for entry in results)
    assert svr > raw + 0.1
    expected = [
        kendalltau(data.judge_overall[test], data.target[test]).statistic
        for _, test in split_by_reference(data.reference_ids, 3)
    ]
    assert raw == pytest.approx(np.mean(expected))
    for entry in results:  # the held-out predictions are those of which τ-b is reported
        taus = [
            kendalltau(entry.held_out[test], data.target[test]).statistic
            for _, test in split_by_reference(data.reference_ids, 3)
        ]
        assert entry.tau_b == pytest.approx(np.mean(taus), abs=1e-6)
    best, regressor = fit_best(data, results)
    assert best.tau_b == max(tree, svr)
    assert kendalltau(regressor.predict(data.features), data.target).statistic > 0.8
    again = nested_cross_validation(data, grids, folds=3, inner_folds=2)
    for first, second in zip(results, again, strict=True):
        assert first._replace(held_out=second.held_out) == second
        np.testing.assert_array_equal(first.held_out, second.held_out)


def test_select_params_single_choice_is_not_fitted() -> None:
    invalid = {"max_depth": -1}  # scikit-learn refuses to fit it
    assert select_params("decision-tree", learnable_data(), [invalid], folds=2) == invalid
    with pytest.raises(ValueError, match="max_depth"):
        select_params("decision-tree", learnable_data(), [invalid, invalid], folds=2)


def test_nested_cross_validation_invalid_data_are_named() -> None:
    data = learnable_data()
    for invalid, message in (
        (data._replace(target=np.ones(240)), "Expected targets that differ but all 240 are 1"),
        (data._replace(reference_ids=np.arange(240) // 60), "at least 15 references, for 5 × 3 folds, but got 4"),
        (
            RegressionData(*(column[:45] for column in data)),
            "Expected 30 training pairs in .* of 45 pairs in all has 24",
        ),
        (data._replace(target=np.full(240, np.nan)), "Expected finite targets but row 0"),
    ):
        with pytest.raises(InputError, match=message):
            nested_cross_validation(invalid)
    with pytest.raises(ValueError, match=">= 2"):
        nested_cross_validation(data, folds=1)


def judged(pair_id: str, *scores: float, overall: float | None = 2.0, rater: str | None = None) -> JudgedPair:
    sides = tuple(SentenceScore(score, ()) for score in scores), (SentenceScore(1.0, ()),)
    judgement = SentenceJudgement(*sides, overall, "", {}, "ok")
    return JudgedPair(pair_id, rater, tuple(f"Sentence {i}." for i in range(len(scores))), ("Other.",), judgement)


def test_regression_data_average_raters_and_join_targets_by_id() -> None:
    pairs = [judged("p", 1.0, 0.0, rater="x"), judged("p", 1.0, 1.0, overall=4.0, rater="y"), judged("q", -1.0)]
    data, skipped = regression_data(pairs, "fractions")
    assert skipped == 0
    assert data.features.tolist() == [[0.25, 0, 0.75, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 1, 0]]
    assert data.target.tolist() == [3.0, 2.0]
    assert np.isnan(data.judge_overall).all()  # the judge's overall score is the target
    assert data.reference_ids.tolist() == [1, 0]
    data, skipped = regression_data(pairs, "fractions", {"p": (4.5, "case")})
    assert (skipped, data.target.tolist()) == (1, [4.5])
    with pytest.raises(InputError, match="pair 'p': Expected the same sentences from all raters"):
        regression_data([judged("p", 1.0), judged("p", 1.0, 0.0)], "fractions")
    with pytest.raises(InputError, match="Expected at least one pair with sentence scores and an overall score"):
        regression_data([judged("p", 1.0, overall=None)], "fractions")
