"""The reading of a report: its facts, and the statements that the vocabulary does not read."""

import pytest
from hypothesis import given

from radreward.testing.hostile_reports import hostile_reports
from radreward.text.report_reading import read_report
from radreward.text.sentence_parser import sentence_facts


@pytest.mark.parametrize(
    "sentence",
    [
        "Small left effusion.",
        "No pneumothorax.",
        "The heart is normal.",
        "The edema has resolved.",
        "No acute disease.",
    ],
)
def test_statement_of_the_vocabulary_is_read(sentence: str) -> None:
    assert read_report(sentence)[1:3] == (1, ())


@pytest.mark.parametrize("sentence", ["Odd contour of a rib.", "The patient is rotated.", "The heart looks peculiar."])
def test_statement_in_other_words_is_not_read(sentence: str) -> None:
    assert read_report(f"Pneumonia. {sentence}")[1:3] == (1, (sentence,))


def test_headings_and_sections_before_the_findings_are_not_listed() -> None:
    report = "INDICATION: Odd feeling. TECHNIQUE: Two views. FINDINGS: Odd contour. IMPRESSION: Odd contour."
    assert read_report(report)[1:3] == (0, ("Odd contour.", "Odd contour."))


def test_facts_do_not_depend_on_the_order_of_sentences() -> None:
    first, second = "Small left effusion. Scoliosis.", "Scoliosis. Small left effusion."
    assert read_report(first).facts == read_report(second).facts


@given(hostile_reports(max_length=500))
def test_unread_statements_are_parts_of_the_text_without_a_positive_finding(report: str) -> None:
    _, num_read, unread, partly_read = read_report(report)
    text, start = " ".join(report.split()), 0
    for statement in unread:
        start = text.index(statement, start) + len(statement)
        assert not any(fact.positive for fact in sentence_facts(statement))
    assert num_read >= len(partly_read)
    assert all(any(fact.is_stated for fact in sentence.facts) for sentence in partly_read)
