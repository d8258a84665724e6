"""Statements in other words: taken for a finding only if they are likely to report one."""

import pytest

from radreward.models.finding_classifier import embedded_classifier
from radreward.models.report_findings import read_findings


def recognized(report: str) -> list[str]:
    [findings] = read_findings([report], embedded_classifier()).values()
    return [fact.finding for facts in findings.recognized.values() for fact in facts]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("There is fluid in the space around the right lung.", "effusion"),
        ("A small round spot in the right upper lung.", "nodule"),
        ("The main artery of the chest is ballooned.", "aneurysm"),
    ],
)
def test_other_words_are_taken_for_the_finding_of_a_similar_name(statement: str, expected: str) -> None:
    assert recognized(statement) == [expected]


@pytest.mark.parametrize(
    "statement",
    [
        "Left lung apex is obscured by the chin.",
        "The left clavicle is obscured.",
        "Clothing artifact over the left shoulder.",
        "Motion artifact at the lung bases.",
        "Chest pain on the left side.",
        "Gastric air bubble in the usual place.",
        "Evaluation of the upper thoracic bodies is limited secondary to osseous overlap.",
    ],
)
def test_limits_that_name_an_abnormality_are_taken_for_none(statement: str) -> None:
    assert not recognized(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "The tube has been taken out.",
        "Gas above the liver has disappeared.",
        "Water on the lung base has disappeared.",
    ],
)
def test_what_has_resolved_is_no_finding(statement: str) -> None:
    [findings] = read_findings([statement], embedded_classifier()).values()

    assert not findings.facts
    assert not findings.unread


def test_statement_is_not_taken_for_what_it_denies() -> None:
    assert not recognized("No pneumothorax, slight volume loss.")


def test_what_has_gone_solid_is_not_left_out() -> None:
    [findings] = read_findings(["The lower lobe has gone solid."], embedded_classifier()).values()
    assert findings.facts or findings.unread or findings.possible
