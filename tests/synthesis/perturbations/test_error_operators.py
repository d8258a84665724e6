from collections.abc import Callable
from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts, count_errors, to_radcliq_counts
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.synthesis.perturbations.report_edits import (
    add_details,
    insert_facts,
    make_specific,
    make_vague,
    paraphrase,
    reorder,
)
from radreward.synthesis.report_styles import sample_style
from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.report_parser import parse_report

random_report = random_report_source(sample_style)

SEEDS = range(150)


def _parsed_errors(reference: AnnotatedReport, candidate: AnnotatedReport) -> dict[str, int]:
    return count_errors(parse_report(reference.text).facts, parse_report(candidate.text).facts)


@pytest.mark.parametrize("tag", ERROR_OPERATORS)
def test_error_operator_adds_one_error_recovered_by_parsing(tag: str) -> None:
    applied = 0
    for seed in SEEDS:
        rng = Random(seed)
        report = random_report(rng)
        edited = ERROR_OPERATORS[tag](report, rng)
        if edited is None:
            continue
        applied += 1
        counts = count_errors(report.facts, edited.facts)
        assert {kind: count for kind, count in to_radcliq_counts(counts).items() if count} == {tag: 1}
        assert _parsed_errors(report, edited) == counts, (report.text, edited.text)
    assert applied > len(SEEDS) / 8


def test_error_operators_in_sequence_are_all_counted() -> None:
    for seed in SEEDS:
        rng = Random(seed)
        report = edited = random_report(rng)
        for tag in rng.choices(list(ERROR_OPERATORS), k=5):
            edited = ERROR_OPERATORS[tag](edited, rng) or edited
        assert _parsed_errors(report, edited) == count_errors(report.facts, edited.facts), (report.text, edited.text)


@pytest.mark.parametrize("edit", [paraphrase, reorder])
def test_paraphrase_and_reorder_cause_no_error(edit: Callable[[AnnotatedReport, Random], AnnotatedReport]) -> None:
    changed = 0
    for seed in SEEDS:
        rng = Random(seed)
        report = random_report(rng)
        edited = edit(report, rng)
        changed += edited.text != report.text
        assert not any(_parsed_errors(report, edited).values()), (report.text, edited.text)
        assert not any(_parsed_errors(edited, report).values())
        assert set(edited.facts) == set(report.facts)
    assert changed > len(SEEDS) / 2


def test_edits_are_reproducible() -> None:
    for seed in range(20):
        for operator in (*ERROR_OPERATORS.values(), paraphrase, reorder):
            results = [operator(random_report(Random(seed)), Random(seed)) for _ in range(2)]
            assert results[0] == results[1]


@pytest.mark.parametrize("tag", ERROR_OPERATORS)
def test_error_operator_empty_report_returns_none(tag: str) -> None:
    assert ERROR_OPERATORS[tag](AnnotatedReport(()), Random(0)) is None


def test_insert_fact_removes_contradicting_negation() -> None:
    report = parse_report("No effusion or pneumothorax. The lungs are clear.")
    edited = insert_facts(report, [Fact("pneumothorax", location="left")], Random(0))
    assert edited is not None
    facts = parse_report(edited.text).facts
    assert [fact.polarity for fact in facts if fact.finding == "pneumothorax"] == ["present"]
    assert Fact("effusion", "absent") in facts


def test_replace_fact_edits_every_section() -> None:
    fact = Fact("effusion", location="left")
    report = AnnotatedReport(
        (Sentence("Left effusion.", (fact,)), Sentence("Effusion on the left.", (fact,), "impression")),
        has_headings=True,
    )
    for seed in range(20):
        edited = ERROR_OPERATORS["incorrect_location"](report, Random(seed))
        assert edited is not None
        assert all(entry.facts[0].location != "left" for entry in edited.sentences)


@pytest.mark.parametrize(
    ("finding", "location", "other", "other_location"),
    [("ett", "above carina", "ettlow", "right mainstem"), ("ngt", "stomach", "ngtmal", "esophagus")],
)
def test_tip_of_a_tube_is_moved_both_ways(finding: str, location: str, other: str, other_location: str) -> None:
    pairs = Fact(finding, location=location), Fact(other, location=other_location)
    for before in pairs:
        for seed in range(10):
            report = AnnotatedReport((fact_sentence(before, Random(seed)), Sentence("Edema.", (Fact("edema"),))))
            edited = ERROR_OPERATORS["incorrect_location"](report, Random(seed))
            assert edited is not None
            moved, edema = sorted(parse_report(edited.text).facts, key=lambda fact: fact.finding == "edema")
            assert edema == Fact("edema")
            assert moved.finding in (finding, other)
            assert moved.location != before.location
            errors = _parsed_errors(report, edited)
            assert errors["significant_incorrect_location"] == (moved.finding != before.finding)
            assert errors["insignificant_incorrect_location"] == (moved.finding == before.finding)


def test_add_false_finding_uses_parsed_sections_only() -> None:
    for text in ("COMPARISON: None.", "Indication: Cough. Technique: Two views"):
        assert ERROR_OPERATORS["false_prediction"](parse_report(text), Random(0)) is None
    for seed in range(30):
        edited = ERROR_OPERATORS["false_prediction"](parse_report("No edema"), Random(seed))
        assert edited is not None
        assert "No edema " not in edited.text


def test_change_comparison_reverses_a_stated_change() -> None:
    fact = Fact("effusion", change="worse")
    report = AnnotatedReport((fact_sentence(fact, Random(0)),))
    changes = set()
    for seed in range(20):
        edited = ERROR_OPERATORS["incorrect_comparison"](report, Random(seed))
        assert edited is not None
        changes.add(edited.facts[0].change)
    assert changes == {"new", "better", "stable"}


def test_add_details_states_what_was_open_and_causes_no_error() -> None:
    added = 0
    for seed in SEEDS:
        report = random_report(Random(seed))
        edited = add_details(report, Random(seed))
        if edited is None:
            continue
        added += 1
        comparison = compare_facts(report.facts, edited.facts)
        assert edited.facts != report.facts
        assert not comparison.errors
        assert not comparison.weights.wrong
    assert added > len(SEEDS) * 3 / 8


@pytest.mark.parametrize("edit", [make_vague, make_specific])
def test_another_name_causes_no_counted_error_and_never_more_credit(
    edit: Callable[[AnnotatedReport, Random], AnnotatedReport | None],
) -> None:
    lost = 0
    for seed in SEEDS:
        report = random_report(Random(seed))
        edited = edit(report, Random(seed))
        if edited is None:
            continue
        comparison = compare_facts(report.facts, edited.facts)
        assert not comparison.errors, (report.text, edited.text)
        full = compare_facts(report.facts, report.facts).weights
        assert comparison.weights.matched <= full.matched + 1e-9
        lost += comparison.weights.wrong > 0
    assert lost > len(SEEDS) / 20
