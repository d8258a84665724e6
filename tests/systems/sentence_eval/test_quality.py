"""Quality of the sentence scorer: sentences with findings only, by their significance."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import radreward
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.report_findings import read_findings
from radreward.scorers.base import Scorer
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.quality import judged_quality

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
    found = [read_findings([" ".join(sentences)], embedded_classifier()) for sentences in (reference, candidate)]
    first, second = (findings for entry in found for findings in entry.values())
    return judged_quality(judgement, (reference, candidate), (first, second))


@given(SENTENCES, SENTENCES)
def test_rules_decide_what_they_read_against_the_judge(
    reference: list[tuple[str, float]], candidate: list[tuple[str, float]]
) -> None:
    scores = [tuple(SentenceScore(score, (0,)) for _, score in side) for side in (reference, candidate)]
    judgement = SentenceJudgement(scores[0], scores[1], None, "", {}, "ok")
    expected, stated = (
        {key: w for text, _ in side for key, w in FINDINGS[text].items()} for side in (reference, candidate)
    )
    right = 0.25 + sum(weight for name, weight in expected.items() if name in stated)
    wrong = sum({**expected, **stated}[name] for name in expected.keys() ^ stated.keys())
    actual = quality(judgement, [text for text, _ in reference], [text for text, _ in candidate])
    assert actual == pytest.approx(right / (right + wrong))


@pytest.mark.parametrize(
    ("score", "reference", "candidate", "expected"),
    [
        (1.0, "Spidery lines in the left lower lobe.", "Thorny lines in the left lower lobe.", 1.0),
        (
            0.5,
            "Spidery lines in the left lower lobe.",
            "Thorny lines in the left lower lobe.",
            0.375 / 0.625,
        ),
        (-1.0, "Spidery lines in the left lower lobe.", "No odd pattern in the left lower lobe.", 0.25 / 0.5),
        (0.5, "Left effusion.", "Thorny lines in the left lower lobe.", 0.5 / 0.875),
        (0.5, "Left effusion.", "Right scar.", 0.25 / 1.0),
        (0.5, "Left effusion.", "Right effusion.", 0.5 / 1.0),
    ],
)
def test_the_judge_decides_about_other_words(score: float, reference: str, candidate: str, expected: float) -> None:
    judged = (SentenceScore(score, (0,)),)
    actual = quality(SentenceJudgement(judged, judged, None, "", {}, "ok"), [reference], [candidate])
    assert actual == pytest.approx(expected)


def test_a_finding_with_details_of_another_sentence_has_the_score_of_its_own() -> None:
    reference = ["A nodule is seen.", "This nodule measures 8 mm."]
    scores = SentenceScore(0.5, (0,)), SentenceScore(0.5, (0,))
    judgement = SentenceJudgement(scores, (SentenceScore(0.5, (0, 1)),), None, "", {}, "ok")
    assert quality(judgement, reference, ["Thorny lines in the left lower lobe."]) == pytest.approx(0.5 / 0.875)


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
    assert quality[1] > 0.995


def test_normal_statements_do_not_offset_a_missed_finding(scorer: Scorer) -> None:
    candidates = ["Mild pulmonary edema.", f"Mild pulmonary edema. No pleural effusion. {NORMAL}"]
    scores = scorer.score([REFERENCE, f"{REFERENCE} {NORMAL}"], candidates)
    assert scores.quality is not None
    assert float(scores.quality[0]) == pytest.approx(float(scores.quality[1]), abs=0.005)
    assert 0.2 < scores.quality[0] < 0.5


def test_a_normal_summary_of_a_normal_report_is_right(scorer: Scorer) -> None:
    scores = scorer.score([NORMAL], ["No acute disease."])
    assert scores.quality is not None
    assert scores.quality.tolist() == pytest.approx([1.0], abs=0.005)
