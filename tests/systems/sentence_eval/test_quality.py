"""Quality of the sentence scorer: sentences with findings only, by their significance."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import radreward
from radreward.models.finding_gate import embedded_gate
from radreward.scorers.base import Scorer
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.quality import sentence_quality

FINDINGS = {
    "Large pneumothorax.": {"pneumothorax": 1.0},
    "Pulmonary edema.": {"edema": 0.5},
    "Atelectasis and pulmonary edema.": {"atelectasis": 0.25, "edema": 0.5},
    "Scoliosis.": {"scoliosis": 0.25},
    "Lungs are clear.": {},
    "No pneumothorax.": {},
}
"""Findings of sentences with their weights."""
SENTENCES = st.lists(st.tuples(st.sampled_from(sorted(FINDINGS)), st.sampled_from([1.0, 0.5, 0.0, -1.0])), min_size=1)
REFERENCE = "There is a large left pneumothorax. Mild pulmonary edema. No pleural effusion."
NORMAL = "The lungs are clear. Heart size is normal."


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return radreward.load("sentence-eval")


def quality(judgement: SentenceJudgement, reference: Sequence[str], candidate: Sequence[str]) -> float:
    reporting = embedded_gate().reporting([*reference, *candidate])
    return sentence_quality(judgement, reference, candidate, reporting)


@given(SENTENCES, SENTENCES)
def test_quality_equals_the_formula(reference: list[tuple[str, float]], candidate: list[tuple[str, float]]) -> None:
    sides = [tuple(SentenceScore(score, ()) for _, score in side) for side in (reference, candidate)]
    judgement = SentenceJudgement(sides[0], sides[1], None, "", {}, "ok")
    matched = wrong = 0.0
    for own, other in ((reference, candidate), (candidate, reference)):
        for text, score in own:
            for name, weight in FINDINGS[text].items():
                agreement = 1.0 if any(name in FINDINGS[text] for text, _ in other) else max(score, 0.0)
                matched += weight * agreement * (own is reference)
                wrong += weight * (1 - agreement)
    actual = quality(judgement, [text for text, _ in reference], [text for text, _ in candidate])
    assert actual == pytest.approx((matched + 0.25) / (matched + 0.25 + wrong))


def test_facts_overrule_scores_of_sentences_where_they_tell() -> None:
    """Facts are known to match where sentences are merged, and known not to where the judge takes them for equal."""
    partial, equal = SentenceScore(0.5, (0,)), SentenceScore(1.0, (0,))
    merged = SentenceJudgement((partial, partial), (partial,), None, "", {}, "ok")
    assert quality(merged, ["Edema.", "Large pneumothorax."], ["Edema; large pneumothorax."]) == 1
    unrelated = SentenceJudgement((equal,), (equal,), None, "", {}, "ok")
    assert quality(unrelated, ["Edema."], ["Rib fracture."]) == pytest.approx(0.25 / 1.25)
    unclear = SentenceJudgement((partial,), (partial,), None, "", {}, "ok")
    assert quality(unclear, ["Left edema."], ["Water is seen."]) == pytest.approx(0.5 / 0.875)
    assert quality(unclear, ["Left effusion."], ["Right effusion."]) == pytest.approx(0.5 / 1.0)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("The heart is severely enlarged.", "The heart is normal in size."),
        ("No pulmonary embolism.", "Large pulmonary embolism."),
        ("Left effusion. The heart is mildly enlarged.", "Left effusion."),
        ("Left effusion.", "Left effusion. Lungs are not clear."),
    ],
)
def test_findings_in_unknown_words_count(scorer: Scorer, reference: str, candidate: str) -> None:
    quality = scorer.score([reference, reference], [candidate, f"{reference} PA and lateral views."]).quality
    assert quality is not None
    assert quality[0] < 0.9
    assert quality[1] == 1


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
