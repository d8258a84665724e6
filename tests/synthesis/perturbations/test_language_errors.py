from collections import Counter
from random import Random

from radreward.criteria import MRScoreCriteria
from radreward.synthesis.candidate_writer import Reference
from radreward.synthesis.candidates import CandidateDraft, add_language_errors, judge_draft, random_report_source
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.synthesis.perturbations.language_errors import (
    inject_grammar_errors,
    inject_terminology_errors,
    mrscore_errors,
    replace_history,
)
from radreward.synthesis.report_styles import ReportStyle, sample_style
from radreward.synthesis.tier_writer import draft_candidate
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import parse_report

random_report = random_report_source(sample_style)

STYLE = ReportStyle("both", has_headings=True, has_history=True)


def _reference(seed: int) -> AnnotatedReport:
    rng = Random(seed)
    return render_report(sample_facts(rng), rng, STYLE)


def test_mrscore_errors_agree_with_parsed_texts() -> None:
    observed_tags: Counter[str] = Counter()
    for seed in range(120):
        rng, reference = Random(seed), _reference(seed)
        entry = draft_candidate(Reference.among_generated(reference, sample_style), seed % 3, rng)
        if (changed := replace_history(entry.report, rng)) is not None and rng.random() < 0.5:
            entry = entry._replace(report=changed)
        if entry.report.has_headings or len({sentence.section for sentence in entry.report.sentences}) == 1:
            parsed = CandidateDraft(parse_report(entry.report.text), "parsed")
            expected = judge_draft(parse_report(reference.text), parsed).errors
            assert judge_draft(reference, entry).errors == expected
        with_language = judge_draft(reference, add_language_errors(entry, Random(seed))).errors
        observed_tags.update(tag for tag in MRScoreCriteria().tags if with_language[tag])
    assert set(observed_tags) == set(MRScoreCriteria().tags)


def test_language_errors_preserve_facts() -> None:
    for seed in range(100):
        report = _reference(seed)
        for edit, flags in ((inject_grammar_errors, (True, False)), (inject_terminology_errors, (False, True))):
            edited = edit(report, Random(seed))
            if edited is None:
                continue
            assert edited.text != report.text
            assert edited.facts == report.facts
            errors = mrscore_errors(report, edited, *flags)
            tags_with_errors = {tag for tag, count in errors.items() if count}
            assert tags_with_errors == {"grammar" if flags[0] else "medical_terminology"}


def test_replace_history_changes_history_only() -> None:
    report = _reference(1)
    edited = replace_history(report, Random(0))
    assert edited is not None
    assert {tag for tag, count in mrscore_errors(report, edited, False, False).items() if count} == {"clinical_history"}
    assert replace_history(parse_report("No edema."), Random(0)) is None


def test_mrscore_errors_of_fact_errors() -> None:
    tags = {
        "incorrect_location": {"description_of_lesions"},
        "incorrect_severity": {"description_of_lesions"},
        "omission": {"completeness"},
    }
    for seed in range(100):
        report = _reference(seed)
        for operator, expected in tags.items():
            edited = ERROR_OPERATORS[operator](report, Random(seed))
            if edited is not None:
                tags_with_errors = {tag for tag, count in mrscore_errors(report, edited, False, False).items() if count}
                assert expected <= tags_with_errors <= expected | {"impression_consistency", "impression_organs"}


def test_mrscore_errors_of_identical_reports_are_zero() -> None:
    for seed in range(50):
        report = _reference(seed)
        assert not any(mrscore_errors(report, report, False, False).values())


def test_language_errors_preserve_headings() -> None:
    report = parse_report("INDICATION: Cough. FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    for seed in range(50):
        edited = (
            inject_terminology_errors(inject_grammar_errors(report, Random(seed)) or report, Random(seed)) or report
        )
        assert all(f"{head}:" in edited.text for head in ("INDICATION", "FINDINGS", "IMPRESSION"))
        changed = replace_history(report, Random(seed))
        assert changed is not None
        assert changed.text.startswith("INDICATION: ")
        assert changed.text.endswith("FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    same_history = parse_report("Clinical history: Cough. FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    assert not mrscore_errors(report, same_history, False, False)["clinical_history"]
