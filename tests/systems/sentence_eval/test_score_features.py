"""Features of judged pairs against a naive count; what must not change them does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.systems.sentence_eval.judges import SCORE_ORDER, average_judgements, score_fractions
from radreward.systems.sentence_eval.score_features import feature_names, feature_values
from radreward.types import SentenceJudgement, SentenceScore

SCORES = st.sampled_from(SCORE_ORDER)
SIDES = st.lists(SCORES, min_size=1, max_size=9)
TEXTS = ("No edema.", "Large pneumothorax.", "Scoliosis.", "Clear lungs.")


def judged(original: list[float], predicted: list[float]) -> SentenceJudgement:
    one, other = (tuple(SentenceScore(score, ()) for score in side) for side in (original, predicted))
    return SentenceJudgement(one, other, None, "", {}, "ok")


@given(SIDES, SIDES)
def test_shares_are_counted_and_add_up(original: list[float], predicted: list[float]) -> None:
    found = score_fractions(judged(original, predicted))
    assert found is not None
    assert found == pytest.approx(
        [side.count(s) / len(side) for side in (original, predicted) for s in (0, 0.5, 1, -1)]
    )
    assert sum(found[:4]) == pytest.approx(1)
    assert sum(found[4:]) == pytest.approx(1)


@given(st.permutations(range(4)), st.lists(SCORES, min_size=4, max_size=4), SIDES)
def test_the_order_of_sentences_changes_nothing(order: list[int], scores: list[float], predicted: list[float]) -> None:
    texts = ["Clear."] * len(predicted)
    plain = feature_values("findings", judged(scores, predicted), TEXTS, texts)
    moved = feature_values("findings", judged([scores[i] for i in order], predicted), [TEXTS[i] for i in order], texts)
    assert moved == pytest.approx(plain)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=4))
def test_of_repetitions_the_mean_of_their_shares(repetitions: list[tuple[float, float]]) -> None:
    each = [judged([first, second], [second]) for first, second in repetitions]
    known = [score_fractions(entry) for entry in each]
    means = [sum(column) / len(known) for column in zip(*(row or () for row in known), strict=True)]
    assert score_fractions(average_judgements(each)) == pytest.approx(means)


def test_findings_count_what_sentences_state() -> None:
    values = feature_values("findings", judged([1.0, 0.0, -1.0, 0.5], [1.0]), TEXTS, ["Mild scoliosis."])
    found = dict(zip(feature_names("findings"), values or (), strict=True))
    assert {name: value for name, value in found.items() if value and "_abnormal" in name} == {
        "reference_abnormal_alone": 0.1,
        "reference_abnormal_contrary": 0.1,
        "candidate_abnormal_same": 0.1,
    }
    assert {name: value for name, value in found.items() if value and "_urgent" in name} == {
        "reference_urgent_alone": 0.1
    }


def test_a_report_without_scores_has_no_features() -> None:
    empty = SentenceJudgement((), (SentenceScore(0.0, ()),), None, "", {}, "ok")
    unread = SentenceJudgement((None,), (SentenceScore(0.0, ()),), None, "", {}, "no judgement")
    assert score_fractions(empty) is None
    assert feature_values("findings", unread, ["a"], ["b"]) is None


def test_unknown_features_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected `features` to be shares or findings but got 'all'"):
        feature_names("all")  # type: ignore[arg-type]  # that is the test
