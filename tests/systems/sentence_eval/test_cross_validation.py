"""Nested cross-validation: references stay together, what cannot be fitted is told in one line."""

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
    split_by_reference,
)


def pairs(rows: int = 240, seed: int = 0) -> RegressionData:
    rng = np.random.default_rng(seed)
    features = np.hstack([rng.dirichlet(np.ones(4), rows), rng.dirichlet(np.ones(4), rows)])
    target = np.round(6 * features[:, 2] - 4 * features[:, 7])
    return RegressionData(features, features[:, 2], target, np.arange(rows) // 3)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=60), st.integers(2, 4), st.integers(0, 3))
def test_references_stay_together_and_each_is_held_out_once(groups: list[int], folds: int, seed: int) -> None:
    group = np.array(groups)
    tested = []
    for train, test in split_by_reference(group, folds, seed):
        assert not set(group[train]) & set(group[test])
        assert len(train) + len(test) == len(group)
        tested += test.tolist()
    assert sorted(tested) == list(range(len(group)))


def test_what_can_be_learnt_is_learnt() -> None:
    known = pairs()
    done: list[str] = []
    names = ("decision-tree", "support-vectors")
    found = nested_cross_validation(known, names, folds=3, inner_folds=2, on_progress=done.append)
    assert [entry.name for entry in found] == [RAW_OVERALL, *names]
    assert done == list(names)
    unregressed, tree, vectors = (entry.tau_b for entry in found)
    assert vectors > unregressed + 0.1
    folds = [
        kendalltau(known.judge_overall[test], known.target[test]).statistic
        for _, test in split_by_reference(known.reference_ids, 3)
    ]
    assert unregressed == pytest.approx(np.mean(folds))
    best, regressor = fit_best(known, found)
    assert best.tau_b == max(tree, vectors)
    assert kendalltau(regressor.predict(known.features), known.target).statistic > 0.8
    again = nested_cross_validation(known, names, folds=3, inner_folds=2)
    assert again == found


def test_what_cannot_be_fitted_is_told() -> None:
    known = pairs()
    for wrong, message in (
        (known._replace(target=np.ones(240)), "Expected targets that differ but all 240 are 1"),
        (known._replace(reference_ids=np.arange(240) // 60), "Expected 15 references at least, for 5 × 3 folds, but got 4"),
        (RegressionData(*(column[:45] for column in known)), "Expected more than 45 pairs: 24 of them are left"),
        (known._replace(target=np.full(240, np.nan)), "Expected finite targets but row 0 has none"),
    ):
        with pytest.raises(InputError, match=message):
            nested_cross_validation(wrong)
    with pytest.raises(ValueError, match=">= 2"):
        nested_cross_validation(known, folds=1)
    with pytest.raises(ValueError, match="Expected a regressor of"):
        nested_cross_validation(known, ["oracle"])
