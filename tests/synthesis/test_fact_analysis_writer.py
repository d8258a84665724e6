"""Tests of the analysis writer: one text per counted error, derived from the facts of the reports."""

from random import Random

import pytest

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import compare_facts, count_errors
from radreward.synthesis import synthesize
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.synthesis.report_styles import FrequentChoiceRandom
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.text.facts import Fact
from radreward.text.report_parser import parse_report

PAIR = ("Increasing small left effusion. There is a nodule.", "Large right effusion. There is scoliosis.")
COUNTS = (1.0, 1.0, 1.0, 1.0, 0.0, 1.0)


def test_fact_analysis_writer_fixed_wording() -> None:
    analysis = FactAnalysisWriter(vary_wording=False).write(*PAIR, COUNTS, RadCliQCriteria(), Random(0))
    assert analysis.error_counts == COUNTS
    assert analysis.explanation == (
        "Reference: mild left pleural effusion, worse; pulmonary nodule.\n"
        "Candidate: severe right pleural effusion; scoliosis."
    )
    assert analysis.error_texts == (
        ("scoliosis",),
        ("pulmonary nodule",),
        *(("pleural effusion",),) * 2,
        (),
        ("pleural effusion",),
    )
    assert analysis.matched_findings == ("mild left pleural effusion, worse",)


def test_fact_analysis_writer_varied_wording() -> None:
    analysis = FactAnalysisWriter().write(*PAIR, COUNTS, RadCliQCriteria(), Random(0))
    assert "left" in analysis.error_texts[2][0]
    assert "right" in analysis.error_texts[2][0]
    assert "worse" in analysis.error_texts[5][0]
    variants = {FactAnalysisWriter().write(*PAIR, COUNTS, RadCliQCriteria(), Random(seed)) for seed in range(20)}
    assert len(variants) > 10
    assert analysis == FactAnalysisWriter().write(*PAIR, COUNTS, RadCliQCriteria(), Random(0))


def test_fact_analysis_writer_names_sizes() -> None:
    facts = [Fact("nodule", severity="mild", size=size) for size in (6.0, 9.0, 16.0)]
    (error,) = compare_facts(facts[:1], facts[2:]).errors
    description = FactAnalysisWriter().describe_error(error, Random(0))
    assert "6 mm" in description
    assert "16 mm" in description
    assert not compare_facts(facts[:1], facts[1:2]).errors


def test_fact_analysis_writer_separates_significance() -> None:
    criteria = RadCliQSignificanceCriteria()
    counts = count_errors(*(parse_report(text).facts for text in PAIR))
    values = tuple(float(counts[tag]) for tag in criteria.tags)
    analysis = FactAnalysisWriter(vary_wording=False).write(*PAIR, values, criteria, Random(0))
    assert tuple(map(len, analysis.error_texts)) == tuple(map(int, values))
    assert "scoliosis" in analysis.error_texts[criteria.tags.index("insignificant_false_prediction")]


def test_fact_analysis_writer_unexplained_counts_have_no_text() -> None:
    analysis = FactAnalysisWriter().write(*PAIR, (3.0, *COUNTS[1:]), RadCliQCriteria(), Random(0))
    assert analysis.error_texts[0] == ()
    assert analysis.error_counts[0] == 3.0
    for criteria in (MRScoreCriteria(), Criteria("one", [Criterion("tone", "Rude.")])):
        values = (1.0,) * len(criteria)
        assert FactAnalysisWriter().write(*PAIR, values, criteria, Random(0)).error_texts == ((),) * len(criteria)


@pytest.mark.parametrize("length", ["plain", "statement"])
def test_fact_analysis_writer_describes_every_generated_error(length: str) -> None:
    criteria, writer = RadCliQSignificanceCriteria(), FactAnalysisWriter()
    for group in synthesize(criteria, 20, seed=5, granularity=length):  # type: ignore[arg-type]
        for candidate in group.candidates:
            values = tuple(criteria.to_list(candidate.errors or {}))
            analysis = writer.write(group.reference, candidate.text, values, criteria, Random(1))
            assert tuple(map(len, analysis.error_texts)) == tuple(map(int, values))
            for template in (GreenTemplate(), RadReasonTemplate()):
                parsed = template.parse(template.render_answer(analysis, criteria), criteria)
                assert (parsed.values, parsed.format_error) == (values, None)


def test_frequent_choice_random_excludes_rare_options() -> None:
    rng = FrequentChoiceRandom(0)
    assert {rng.choice("abcdef") for _ in range(100)} == {"a", "b", "c"}
    assert set(rng.choices("abc", (6, 2, 1), k=200)) == {"a", "b"}
