"""Lists that answer whether there is a finding, and places in other positions than before or after a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.entities import FINDING_TYPES, rule_entities
from radreward.text.report_reading import read_report
from radreward.text.sentence_parser import sentence_facts
from radreward.text.standard_wording import may_report_finding

ANSWERS = (
    ": none",
    ": no",
    " - none",
    " -- nil",
    ": absent",
    ": negative",
    ": not seen",
    ": none identified",
    " absent",
    ": neg",
    " [ ]",
    "? No",
)


@given(
    st.sampled_from(("Effusion", "Pneumothorax", "Pulmonary nodules", "Focal consolidation")), st.sampled_from(ANSWERS)
)
def test_answer_denies_the_finding_before_it(name: str, answer: str) -> None:
    for text in (f"{name}{answer}.", f"{name}{answer}", f"{name}{answer}, edema{answer}."):
        assert {fact.polarity for fact in sentence_facts(text)} == {"absent"}, text
        assert not may_report_finding(text), text
        assert read_report(text).unread == ()
        assert not any(entity.type in FINDING_TYPES for entity in rule_entities(text))


@pytest.mark.parametrize(
    "text", ["Effusion: no change.", "Effusion: yes.", "Effusion - not increased.", "Effusion: small."]
)
def test_other_answers_deny_nothing(text: str) -> None:
    assert [fact.polarity for fact in sentence_facts(text)] == ["present"]


def test_answer_denies_only_its_own_finding() -> None:
    facts = {fact.finding: fact.polarity for fact in sentence_facts("Pneumothorax: none, effusion: yes.")}
    assert facts == {"pneumothorax": "absent", "effusion": "present"}


@pytest.mark.parametrize(
    "text",
    [
        "Effusion R: small; Effusion L: none.",
        "Effusion [x] Pneumothorax [ ]",
        "Is there an effusion? None. Small effusion on the right.",
        "No effusion on the left but a small one on the right.",
    ],
)
def test_some_answers_of_a_report_are_yes(text: str) -> None:
    assert [fact.finding for fact in read_report(text).facts if fact.positive] == ["effusion"]


def test_one_means_the_finding_before_it() -> None:
    facts = read_report("No pneumothorax on the right but a tiny one on the left.").facts
    assert [fact[1:4] for fact in facts] == [("absent", None, None), ("present", "left", "mild")]
    assert len(sentence_facts("One rib fracture, and a second one.")) == 1


@pytest.mark.parametrize(
    ("text", "finding", "location"),
    [
        ("Right apical scarring.", "scar", "right upper"),
        ("Biapical scarring.", "scar", "bilateral upper"),
        ("Apical scarring on the left.", "scar", "left"),
        ("Right apical pneumothorax.", "pneumothorax", "right"),  # has no zones
        ("Central lung opacities, right and left.", "opacity", "bilateral perihilar"),
        ("The ETT ends right at the carina.", "ettlow", "at carina"),
        ("Effusion on the right at the base.", "effusion", "right"),
    ],
)
def test_place_of_a_finding(text: str, finding: str, location: str) -> None:
    assert [(fact.finding, fact.location) for fact in sentence_facts(text)] == [(finding, location)]
