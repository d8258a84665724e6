"""Where a denial ends: at a clause with a subject and a verb of its own, at a dash, and at a line."""

import pytest

from radreward.text.report_parser import parse_report
from radreward.text.sentence_parser import sentence_facts
from radreward.text.standard_wording import standard_wording


@pytest.mark.parametrize(
    ("sentence", "positive"),
    [
        ("No pneumothorax, heart is mildly enlarged.", ["cardiomegaly"]),
        ("No pneumothorax and the heart is enlarged.", ["cardiomegaly"]),
        ("There is no pneumothorax, the heart is mildly enlarged", ["cardiomegaly"]),
        ("No effusion - right lower lobe pneumonia.", ["pneumonia"]),
        ("No pneumothorax, and the aorta remains tortuous.", ["tortuous"]),
        ("No effusion and no edema is seen.", []),
        ("No effusion, consolidation, or edema is present.", []),
        ("No effusion, the bones are intact.", []),
        ("No effusion, pneumonia.", []),  # may be a list
    ],
)
def test_denial_reaches_no_statement_of_its_own(sentence: str, positive: list[str]) -> None:
    assert [fact.finding for fact in sentence_facts(sentence) if fact.positive] == positive
    assert bool(standard_wording(sentence).text) == bool(positive)


def test_model_reads_the_statement_without_the_denial() -> None:
    words = standard_wording("No pneumothorax, heart is mildly enlarged. No effusion - small nodule.")
    assert words.text == "heart is mildly enlarged. small nodule."
    start, end = words.original_span(0, len("heart"))
    assert words.original[start:end] == "heart"


def test_finding_on_its_own_line_is_no_part_of_the_denial_before() -> None:
    report = "Moderate left effusion.\nNo pneumothorax\nModerate cardiomegaly\nRight rib fracture"
    assert [fact.finding for fact in parse_report(report).facts if fact.positive] == [
        "effusion",
        "cardiomegaly",
        "ribfx",
    ]
