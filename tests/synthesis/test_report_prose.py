"""Prose of report generators: states no finding, whatever it names, and adds no error."""

from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_prose import _SENTENCES, add_prose, prose_sentence
from radreward.synthesis.report_styles import PROSE_SHARE, mixed_style
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import parse_report


@pytest.mark.parametrize("kind", _SENTENCES)
def test_every_sentence_is_read_without_findings(kind: str) -> None:
    texts = {prose_sentence(kind, Random(seed)).text for seed in range(20 * len(_SENTENCES[kind]))}
    assert len(texts) >= len(_SENTENCES[kind])
    for text in texts:
        assert parse_report(text).facts == (), text
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")


def test_prose_adds_no_error() -> None:
    longer = 0
    for seed in range(100):
        report = random_report_source(mixed_style)(Random(seed))
        edited = add_prose(report, Random(seed))
        longer += len(edited.sentences) > len(report.sentences)
        assert edited.facts == report.facts
        assert not compare_facts(report.facts, edited.facts).errors
        assert [entry.section for entry in edited.sentences] == sorted(
            (entry.section for entry in edited.sentences),
            key=("indication", "comparison", "findings", "impression").index,
        )
    assert longer > 80
    assert add_prose(AnnotatedReport(()), Random(0)) == AnnotatedReport(())


def test_about_a_third_of_the_reports_have_prose() -> None:
    share = sum(mixed_style(Random(seed)).has_prose for seed in range(1000)) / 1000
    assert share == pytest.approx(PROSE_SHARE, abs=0.05)
