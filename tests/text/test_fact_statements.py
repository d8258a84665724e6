"""Statements of reports at their place in the text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.fact_statements import report_statements
from radreward.text.normalization import normalize_report
from radreward.text.report_reading import read_report


@pytest.mark.parametrize(
    ("report", "statements"),
    [
        ("Large R effusion w/o PTX.", ["Large R effusion", "w/o PTX."]),
        ("Effusion with edema, and there is a nodule.", ["Effusion", "edema", "there is a nodule."]),
        ("No effusion, nodule or edema, but a fracture.", ["No effusion, nodule or edema", "a fracture."]),
        ("Opacities in the right upper and left lower lobes.", ["Opacities in the right upper and left lower lobes."]),
        ("Technique: two views. Findings: Edema.Odd lines.", ["Edema.", "Odd lines."]),
        ("Lungs are clear.", ["Lungs are clear."]),
        ("Nodule, approx.Two nodules. Edema.", ["Nodule", "approx.Two nodules.", "Edema."]),
        ("1. The ETT and the NGT are in place.", ["1. The ETT", "the NGT are in place."]),
    ],
)
def test_sentences_are_divided_between_findings(report: str, statements: list[str]) -> None:
    assert [report[entry.start : entry.end] for entry in report_statements(report)] == statements


_WORDS = re.split(
    " ",
    "effusion edema PTX nodule no or and with without w/o w/ R L RLL right left small large resolved possible clear "
    "lungs heart normal ETT new . , ; : 1. FINDINGS: HISTORY: is are \u0130 R>L 5mm \n \n\n \u00a0",
)


@given(st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join))
def test_statements_are_apart_and_state_the_facts_of_the_report(words: str) -> None:
    report = normalize_report(words)
    statements = report_statements(report)
    end = 0
    for entry in statements:
        text = report[entry.start : entry.end]
        assert entry.start >= end
        assert text
        assert text == text.strip()
        end = entry.end
    stated = {(fact.finding, fact.positive) for entry in statements for fact in entry.facts}
    assert {(fact.finding, fact.positive) for fact in read_report(report).facts} == stated
