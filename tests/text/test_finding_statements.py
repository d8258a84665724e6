"""Statements that may report a finding, and those that the reward model does not need."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_styles import elaborate_style, mixed_style
from radreward.text.facts import Sentence
from radreward.text.negation import with_one_answer
from radreward.text.standard_wording import may_report_finding


@pytest.mark.parametrize(
    "statement",
    [
        "No focal consolidation, large pleural effusion, or pneumothorax is identified.",
        "The lungs are grossly clear without focal area of consolidation.",
        "Heart size, mediastinal contour, and pulmonary vascularity are within normal limits.",
        "The visualized bony structures reveal no abnormalities.",
        "Stable heart size with clear lungs.",
        "No displaced rib fractures are seen.",
        "Trachea is midline.",
        "No acute disease.",
    ],
)
def test_denials_and_normal_statements_report_no_finding(statement: str) -> None:
    assert not may_report_finding(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "Small left effusion without pneumothorax.",
        "The heart is not normal in size.",
        "The pneumothorax has resolved.",
        "The lungs are hypoinflated but clear.",
        "Possible pneumonia, no effusion.",
        "Intact median sternotomy wires.",
        "An unheard-of thing.",
        "Effusion cannot be ruled out.",
        "A small pneumothorax is not ruled out.",
        "Pneumonia has not been ruled out.",
        "no effusion mild edema",
        "No pneumothorax, left pleural effusion.",
        "No pneumothorax, large left effusion, no edema.",
        "No pneumothorax, large left effusion, no mass or nodule.",
        "No focal consolidation seen right lung nodule",
        "Negative for pneumonia, positive for nodule.",
        "There is redemonstration without significant interval change of mild atelectasis of the left base.",
        "Heart size is normal with a tortuous aorta.",
    ],
)
def test_other_statements_may_report_a_finding(statement: str) -> None:
    assert may_report_finding(statement)


@pytest.mark.parametrize("style", [mixed_style, elaborate_style])
def test_generated_statements_report_a_finding_if_their_facts_do(style: object) -> None:
    source = random_report_source(style)  # type: ignore[arg-type]
    sentences = [sentence for number in range(150) for sentence in source(Random(number)).sentences]
    assert sum(map(may_report_finding, (sentence.text for sentence in sentences))) < 0.8 * len(sentences)
    for sentence in sentences:
        assert may_report_finding(sentence.text) or not _reports(sentence), sentence.text


def _reports(sentence: Sentence) -> bool:
    return any(fact.positive or fact.change == "resolved" for fact in sentence.facts)


@given(st.text(max_size=60))
@example("absent")
def test_any_text_is_judged_and_a_finding_beside_it_is_reported_unless_the_text_answers_no(text: str) -> None:
    may_report_finding(text)
    beside = f"Small left pleural effusion. {text}"
    assert may_report_finding(beside) == (with_one_answer(beside) == beside)
