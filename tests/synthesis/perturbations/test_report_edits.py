"""Edits that reword a report without an error, and edits of single facts."""

from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts, count_errors
from radreward.synthesis.candidates import CandidateDraft, judge_draft, random_report_source, restate_details
from radreward.synthesis.perturbations.fact_edits import both_sides, sides_of
from radreward.synthesis.perturbations.report_edits import remeasure, replace_fact, restate_sides
from radreward.synthesis.report_styles import brief_style, large_style
from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.measurements import is_same_size
from radreward.text.report_parser import parse_report


def _report(*facts: Fact) -> AnnotatedReport:
    return AnnotatedReport(tuple(Sentence(f"{number}.", (fact,)) for number, fact in enumerate(facts)))


@pytest.mark.parametrize("style", [brief_style, large_style])
def test_sides_and_sizes_stated_in_another_way_are_no_error(style: object) -> None:
    source = random_report_source(style)  # type: ignore[arg-type]
    num_edited = 0
    for seed in range(150):
        report = source(Random(seed))
        for edit in (restate_sides, remeasure):
            edited = edit(report, Random(seed))
            if edited is None:
                continue
            num_edited += edited.facts != report.facts
            assert not any(count_errors(report.facts, edited.facts).values()), (report.text, edited.text)
            assert compare_facts(report.facts, edited.facts).weights.wrong == 0
    assert num_edited >= 30


def test_sides_are_split_in_one_sentence_or_two_and_joined() -> None:
    both = Fact("effusion", location="bilateral", severity="mild", change="stable")
    edits = [restate_sides(_report(both, Fact("edema")), Random(seed)) for seed in range(10)]
    assert {report.facts[:2] for report in edits if report} == {sides_of(both)}
    assert {len(report.sentences) for report in edits if report} == {2, 3}
    left, right = sides_of(both._replace(change=None))
    joined = restate_sides(_report(left, right, Fact("edema")), Random(0))
    assert joined is not None
    assert set(joined.facts) == {both_sides(left), Fact("edema")}


def test_sides_of_different_severity_are_not_joined() -> None:
    facts = Fact("effusion", location="left", severity="mild"), Fact("effusion", location="right", severity="severe")
    assert restate_sides(_report(*facts), Random(0)) is None


def test_sides_in_a_sentence_that_is_not_fully_parsed_are_not_restated() -> None:
    assert restate_sides(parse_report("Bilateral effusions around the drain."), Random(0)) is None


def test_size_is_stated_as_another_measurement() -> None:
    nodule = Fact("nodule", location="left upper", size=12.0)
    sizes = {
        edited.facts[0].size for seed in range(60) if (edited := remeasure(_report(nodule), Random(seed))) is not None
    }
    assert sizes == {size for size in map(float, range(8, 17)) if size != 12.0}
    assert all(is_same_size(12.0, size) for size in sizes if size)
    assert remeasure(_report(Fact("edema")), Random(0)) is None


def test_certainty_of_a_fact_is_replaced() -> None:
    stated, suspected = Fact("pneumothorax", location="left"), Fact("pneumothorax", "uncertain", "left")
    edited = replace_fact(_report(stated), stated, suspected, Random(0))
    assert edited is not None
    assert edited.facts == (suspected,)
    assert parse_report(edited.text).facts == (suspected,)
    assert compare_facts([stated], [suspected]).weights.wrong > 0


def test_restated_reports_keep_the_findings_of_the_reference() -> None:
    source = random_report_source(large_style)
    for seed in range(60):
        report = source(Random(seed))
        judgement = judge_draft(report, CandidateDraft(restate_details(report, Random(seed)), "edited"))
        assert not any(judgement.errors.values())
