"""Statements whose findings another report does not have."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.sensitivity.error_edits import false_finding
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_styles import sample_style
from radreward.text.findings import can_mean_same
from radreward.text.report_parser import parse_report
from radreward.text.sentence_splitter import split_sentences
from radreward.text.unrelated import is_unrelated

random_report = random_report_source(sample_style)


@given(st.integers(0, 10_000))
def test_statement_of_a_report_is_related_to_it(seed: int) -> None:
    report = random_report(Random(seed)).text
    assert not any(is_unrelated(statement, report) for statement in split_sentences(report))


@given(st.integers(0, 10_000))
def test_false_finding_of_a_report_that_is_read_is_unrelated(seed: int) -> None:
    rng = Random(seed)
    report = random_report(rng)
    stated = {fact.finding for fact in report.facts if fact.positive}
    false = false_finding(parse_report(report.text).sentences, rng)
    assert not any(can_mean_same(fact.finding, key) for fact in false.facts for key in stated)
    assert is_unrelated(false.text, " ".join(s.text for s in report.sentences if s.facts))


@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("No pneumothorax.", "Left effusion."),  # reports no finding
        ("Looks odd.", "Left effusion."),  # nothing is read
        ("Opacity.", "Pneumonia."),  # a sign of it
        ("Mass.", "Hazy opacity."),  # a vague name for it
        ("Cardiomegaly.", "The heart takes up more than half of the chest."),  # its body part, in words of its own
        ("Rib fracture.", "Irregular contour of a rib."),
        ("Nodule. Effusion.", "Left effusion."),  # one of two findings
    ],
)
def test_statement_that_a_report_may_have_is_not_unrelated(statement: str, report: str) -> None:
    assert not is_unrelated(statement, report)


@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("Nodule.", "No nodule."),  # a denial is not the finding
        ("Nodule.", "The lungs are clear."),
        ("Rib fracture.", "Left effusion. Correlate with symptoms."),
        ("Severe left effusion.", "There is an odd contour on the left, which is severe."),  # common words
    ],
)
def test_statement_of_another_finding_is_unrelated(statement: str, report: str) -> None:
    assert is_unrelated(statement, report)
