"""What reports name and show: entities in common, and the fourteen observations."""

import math
from random import Random

import pytest

from radreward.scorers.chexpert_labels import DEVICES, NO_FINDING, OBSERVATIONS, CheXpertLabelF1, label_report
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
        ("No edema. Mild pulmonary edema.", {"edema": "positive"}),
        ("Possible edema, but no effusion.", {"edema": "uncertain", "pleural_effusion": "negative"}),
        (
            "PICC in the SVC. No pneumothorax.",
            {DEVICES: "positive", "pneumothorax": "negative", NO_FINDING: "positive"},
        ),
        ("Thank you.", {NO_FINDING: "positive"}),
    ],
)
def test_labels(text: str, expected: dict[str, str]) -> None:
    assert label_report(text) == expected


def test_labels_are_those_of_the_facts_that_reports_were_made_of() -> None:
    """The grammar knows what it says; it has 0.997 over 600 reports."""
    source, rng = random_report_source(sample_style), Random(1)
    common = all_ = 0
    for _ in range(150):
        report = source(rng)
        facts = [fact.finding for fact in report.facts if fact.positive]
        wanted = {name for name, keys in OBSERVATIONS.items() if set(keys) & set(facts)}
        wanted |= set() if wanted - {DEVICES} else {NO_FINDING}
        found = {name for name, state in label_report(report.text).items() if state != "negative"}
        common += len(wanted & found)
        all_ += len(wanted) + len(found)
    assert 2 * common / all_ > 0.98


def test_every_observation_has_findings_of_its_own() -> None:
    assert len(OBSERVATIONS) == 14
    assert all(key in FINDINGS for keys in OBSERVATIONS.values() for key in keys)


def test_f1_of_labels_sub_scores_and_evidence() -> None:
    reference = "Left effusion. Possible pneumonia. Endotracheal tube in place."
    scores = CheXpertLabelF1().score([reference] * 2, ["Effusion. No pneumonia.", reference])
    assert scores.total.tolist() == pytest.approx([2 * 1 / (3 + 1), 1])
    assert scores.sub_scores is not None
    assert scores.evidence is not None
    assert [name for name, same in zip(OBSERVATIONS, scores.sub_scores[0], strict=True) if not same] == [
        "pneumonia",
        DEVICES,
    ]
    assert scores.evidence[0]["candidate"] == {"pneumonia": "negative", "pleural_effusion": "positive"}


def test_entities_in_common() -> None:
    reference, candidate = "No left effusion. Thank you.", "Small effusion. Heart normal."
    found = RuleTagger().tag_reports([reference, candidate])
    assert [[entity.type for entity in row] for row in found] == [
        ["Non-Abnormality"],
        ["Abnormality", "Anatomy", "Non-Abnormality"],
    ]
    scores = EntityF1().score(
        [reference, reference, "Thank you.", "Thanks."], [reference, candidate, reference, "Thank you."]
    )
    assert scores.total.tolist()[:3] == [1, 0, 0]
    assert math.isnan(scores.total[3])
    assert scores.status == ("ok", "ok", "ok", "no entity in either report")
    assert scores.evidence is not None
    assert scores.evidence[1]["missing"] == [("Non-Abnormality", "effusion"), ("Non-Abnormality", "effusion", "left")]
    assert ("Abnormality", "effusion", "small") in scores.evidence[1]["besides"]
