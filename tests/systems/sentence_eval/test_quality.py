"""Quality of the sentence scorer: sentences with findings only, by their significance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import radreward
from radreward.scorers.base import Scorer
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.quality import sentence_quality

WEIGHTS = {
    "Large pneumothorax.": 1.0,
    "Pulmonary edema.": 0.5,
    "Atelectasis and pulmonary edema.": 0.75,
    "Scoliosis.": 0.0,
    "Lungs are clear.": 0.0,
    "No pneumothorax.": 0.0,
}
SENTENCES = st.lists(st.tuples(st.sampled_from(sorted(WEIGHTS)), st.sampled_from([1.0, 0.5, 0.0, -1.0])), min_size=1)
REFERENCE = "There is a large left pneumothorax. Mild pulmonary edema. No pleural effusion."
NORMAL = "The lungs are clear. Heart size is normal."


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return radreward.load("sentence-eval")


@given(SENTENCES, SENTENCES)
def test_quality_equals_the_formula(reference: list[tuple[str, float]], candidate: list[tuple[str, float]]) -> None:
    sides = [tuple(SentenceScore(score, ()) for _, score in side) for side in (reference, candidate)]
    judgement = SentenceJudgement(sides[0], sides[1], None, "", {}, "ok")
    matched = sum(WEIGHTS[text] * max(score, 0) for text, score in reference)
    wrong = sum(WEIGHTS[text] * (1 - max(score, 0)) for text, score in (*reference, *candidate))
    actual = sentence_quality(judgement, [text for text, _ in reference], [text for text, _ in candidate])
    assert actual == pytest.approx((matched + 0.25) / (matched + 0.25 + wrong))


def test_normal_statements_do_not_offset_a_missed_finding(scorer: Scorer) -> None:
    candidates = ["Mild pulmonary edema.", f"Mild pulmonary edema. No pleural effusion. {NORMAL}"]
    scores = scorer.score([REFERENCE, f"{REFERENCE} {NORMAL}"], candidates)
    assert scores.quality is not None
    assert scores.quality[0] == scores.quality[1]
    assert 0.2 < scores.quality[0] < 0.5


def test_a_normal_summary_of_a_normal_report_is_right(scorer: Scorer) -> None:
    scores = scorer.score([NORMAL], ["No acute disease."])
    assert scores.quality is not None
    assert scores.quality.tolist() == [1.0]
