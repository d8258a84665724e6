"""Features of judged report pairs, against naive counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.relation_io import RELATION_SCORES
from radreward.systems.sentence_eval.judgement import (
    SentenceJudgement,
    SentenceScore,
    average_judgements,
    score_fractions,
)
from radreward.systems.sentence_eval.score_features import feature_names, feature_values

scores = st.sampled_from(RELATION_SCORES)
score_lists = st.lists(scores, min_size=1, max_size=9)
SENTENCES = ("No edema.", "Large pneumothorax.", "Scoliosis.", "Clear lungs.")


def make_judgement(reference: list[float], candidate: list[float]) -> SentenceJudgement:
    sides = [tuple(SentenceScore(score, ()) for score in side) for side in (reference, candidate)]
    return SentenceJudgement(sides[0], sides[1], None, "", {}, "ok")


@given(score_lists, score_lists)
def test_score_fractions_are_counted_and_sum_to_one(reference: list[float], candidate: list[float]) -> None:
    fractions = score_fractions(make_judgement(reference, candidate))
    assert fractions is not None
    assert fractions == pytest.approx(
        [side.count(score) / len(side) for side in (reference, candidate) for score in (0, 0.5, 1, -1)]
    )
    assert sum(fractions[:4]) == pytest.approx(1)
    assert sum(fractions[4:]) == pytest.approx(1)


@given(st.permutations(range(4)), st.lists(scores, min_size=4, max_size=4), score_lists)
def test_feature_values_ignore_the_order_of_sentences(
    order: list[int], reference: list[float], candidate: list[float]
) -> None:
    texts = ["Clear."] * len(candidate)
    values = feature_values("findings", make_judgement(reference, candidate), SENTENCES, texts)
    permuted = make_judgement([reference[i] for i in order], candidate)
    assert feature_values("findings", permuted, [SENTENCES[i] for i in order], texts) == pytest.approx(values)


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=4))
def test_score_fractions_of_repetitions_are_their_mean(repetitions: list[tuple[float, float]]) -> None:
    judgements = [make_judgement([first, second], [second]) for first, second in repetitions]
    rows = [score_fractions(entry) or () for entry in judgements]
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert score_fractions(average_judgements(judgements)) == pytest.approx(means)


def test_feature_values_count_the_findings_of_sentences() -> None:
    judgement = make_judgement([1.0, 0.0, -1.0, 0.5], [1.0])
    values = feature_values("findings", judgement, SENTENCES, ["Mild scoliosis."])
    nonzero = {name: value for name, value in zip(feature_names("findings"), values or (), strict=True) if value}
    assert {name: value for name, value in nonzero.items() if "_abnormal" in name} == {
        "reference_abnormal_unmatched": 0.1,
        "reference_abnormal_contradiction": 0.1,
        "candidate_abnormal_equal": 0.1,
    }
    significant = {name: value for name, value in nonzero.items() if "_significant" in name}
    assert significant == {"reference_significant_unmatched": 0.1}


def test_feature_values_report_without_scores_returns_none() -> None:
    empty = SentenceJudgement((), (SentenceScore(0.0, ()),), None, "", {}, "ok")
    unscored = SentenceJudgement((None,), (SentenceScore(0.0, ()),), None, "", {}, "no judgement")
    assert score_fractions(empty) is None
    assert feature_values("findings", unscored, ["a"], ["b"]) is None


def test_feature_names_unknown_set_raises() -> None:
    with pytest.raises(ValueError, match="Expected `feature_set` to be fractions or findings but got 'all'"):
        feature_names("all")  # type: ignore[arg-type]  # tests the check
