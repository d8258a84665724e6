"""Tests of rule-based labels, their F1, and the F1 of entities."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.scorers.chexpert_labels import (
    DEVICES,
    LABEL_STATES,
    NO_FINDING,
    OBSERVATIONS,
    CheXpertLabelF1,
    LabelState,
    label_agreement,
    label_report,
)
from radreward.scorers.entity_f1 import EntityF1
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_styles import sample_style
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.findings import FINDINGS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The heart is mildly enlarged.", {"cardiomegaly": "positive"}),
        ("The heart is not enlarged.", {"cardiomegaly": "negative", NO_FINDING: "positive"}),
        ("Heart size is normal.", {"cardiomegaly": "negative", NO_FINDING: "positive"}),
        ("Widened mediastinum.", {"enlarged_cardiomediastinum": "positive"}),
        ("Pneumonia cannot be entirely excluded.", {"pneumonia": "uncertain"}),
        ("Opacity may represent atelectasis.", {"lung_opacity": "positive", "atelectasis": "uncertain"}),
        ("No change in pneumothorax or effusion.", {"pneumothorax": "positive", "pleural_effusion": "positive"}),
        (
            "Edema and effusion have resolved.",
            {"edema": "negative", "pleural_effusion": "negative", NO_FINDING: "positive"},
        ),
        ("No edema. Mild pulmonary edema.", {"edema": "positive"}),
        ("Possible edema, but no effusion.", {"edema": "uncertain", "pleural_effusion": "negative"}),
        (
            "PICC in the SVC. No pneumothorax.",
            {DEVICES: "positive", "pneumothorax": "negative", NO_FINDING: "positive"},
        ),
        ("Thank you.", {NO_FINDING: "positive"}),
        ("Small pericardial effusion. Sequela of granulomatous infection.", {NO_FINDING: "positive"}),
    ],
)
def test_label_report_known_sentences(text: str, expected: dict[str, str]) -> None:
    assert label_report(text) == expected


def test_label_report_agrees_with_generated_facts() -> None:
    """Compare labels with the facts of generated reports; F1 is 0.997 over 600 reports."""
    source, rng = random_report_source(sample_style), Random(1)
    common = size = 0
    for _ in range(150):
        report = source(rng)
        facts = [fact.finding for fact in report.facts if fact.positive]
        expected = {name for name, keys in OBSERVATIONS.items() if set(keys) & set(facts)}
        expected |= set() if expected - {DEVICES} else {NO_FINDING}
        labels = {name for name, state in label_report(report.text).items() if state != "negative"}
        common += len(expected & labels)
        size += len(expected) + len(labels)
    assert 2 * common / size > 0.98


def test_observations_refer_to_known_findings() -> None:
    assert len(OBSERVATIONS) == 14
    assert all(key in FINDINGS for keys in OBSERVATIONS.values() for key in keys)


def test_chexpert_f1_returns_sub_scores_and_evidence() -> None:
    reference = "Left effusion. Possible pneumonia. Endotracheal tube in place."
    scores = CheXpertLabelF1().score([reference] * 2, ["Effusion. No pneumonia.", reference])
    assert scores.total.tolist() == pytest.approx([2 * 1 / (3 + 1), 1])
    assert scores.sub_scores is not None
    assert scores.evidence is not None
    assert [name for name, equal in zip(OBSERVATIONS, scores.sub_scores[0], strict=True) if not equal] == [
        "pneumonia",
        DEVICES,
    ]
    assert scores.evidence[0]["candidate"] == {"pneumonia": "negative", "pleural_effusion": "positive"}


@given(*[st.dictionaries(st.sampled_from(list(OBSERVATIONS)), st.sampled_from(LABEL_STATES))] * 2)
def test_label_agreement_equals_counts_over_all_observations(
    reference: dict[str, LabelState], candidate: dict[str, LabelState]
) -> None:
    cells = [
        tuple(labels.get(name, "negative") != "negative" for labels in (reference, candidate)) for name in OBSERVATIONS
    ]
    hits = cells.count((True, True))
    wrong, missed = cells.count((False, True)), cells.count((True, False))
    agreement = label_agreement(reference, candidate)
    assert agreement["precision"] == (hits / (hits + wrong) if hits + wrong else None)
    assert agreement["recall"] == (hits / (hits + missed) if hits + missed else None)
    assert agreement["accuracy"] == pytest.approx((hits + cells.count((False, False))) / 14)


def test_entity_f1_returns_evidence_and_status() -> None:
    reference, candidate = "No left effusion. Thank you.", "Small effusion. Heart normal."
    entities = RuleTagger().tag_reports([reference, candidate])
    assert [[entity.type for entity in row] for row in entities] == [
        ["Non-Abnormality"],
        ["Abnormality", "Anatomy", "Non-Abnormality"],
    ]
    scores = EntityF1().score(
        [reference, reference, "Stable.", "Stable."], [reference, candidate, reference, "Unchanged."]
    )
    assert scores.total.tolist()[:3] == [1, 0, 0]
    assert math.isnan(scores.total[3])
    assert scores.status == ("ok", "ok", "ok", "no entity in either report")
    assert scores.evidence is not None
    assert scores.evidence[1]["missing"] == [("Non-Abnormality", "effusion"), ("Non-Abnormality", "effusion", "left")]
    assert ("Abnormality", "effusion", "small") in scores.evidence[1]["extra"]


def test_chexpert_quality_weighs_observations_by_significance() -> None:
    reference = "Pneumothorax. Left effusion. Atelectasis. Endotracheal tube in place."
    candidates = ["Pneumothorax. Effusion.", "Effusion, fracture.", "No acute disease.", "Clear lungs."]
    scores = CheXpertLabelF1().score([reference, reference, reference, "Normal chest."], candidates)
    assert scores.quality is not None
    # Weights: pneumothorax 1, effusion and fracture 0.5, atelectasis and devices 0.25; prior 0.25.
    assert scores.quality.tolist() == pytest.approx([1.75 / 2.25, 0.75 / 2.75, 0.25 / 2.25, 1.0])


def test_entity_quality_is_of_present_findings() -> None:
    reference = "Large left effusion. Scoliosis. No edema. Heart is normal."
    candidates = ["Right effusion.", "No effusion. Heart is normal. No edema.", "Pleural fluid. Severe edema."]
    quality = EntityF1().score([reference] * 3, candidates).quality
    assert quality is not None
    # The wrong side is half right, none costs 0.05; weights: effusion and edema 0.5, scoliosis 0.25; prior 0.25.
    assert quality.tolist() == pytest.approx([0.5 / 1.25, 0.25, 0.725 / (0.725 + 0.05 + 0.75)], abs=0.005)


def test_entity_quality_compares_unread_findings_by_their_words() -> None:
    unread = "spidery lines in the left lower lobe."
    others = [unread.capitalize(), "Thorny lines in the left lower lobe.", "Two views.", ""]
    candidates = [f"Left effusion. {other}" for other in others]
    quality = EntityF1().score([f"Left effusion. {unread}"] * 4, candidates).quality
    assert quality is not None
    assert quality.tolist() == pytest.approx([1.0, 0.6, 0.75, 0.75], abs=0.005)


def test_entity_quality_ignores_words_of_a_change() -> None:
    reference, candidate = "The effusion has increased.", "Effusion, more prominent than before."
    quality = EntityF1().score([reference], [candidate]).quality
    assert quality is not None
    assert quality.tolist() == pytest.approx([1.0], abs=0.005)


def test_labels_of_a_text_that_is_no_report_have_no_score() -> None:
    for scorer in (CheXpertLabelF1(), EntityF1()):
        scores = scorer.score(["Normal chest."], ["The cat sat on the mat."])
        assert scores.status == ("no finding and no normal statement recognised in the candidate",)
        assert math.isnan(scores.total[0])
