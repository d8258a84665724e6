from collections import Counter
from random import Random

from radreward.criteria import MRScore
from radreward.synthesis.candidates import Draft, all_errors, any_report, draft, like_report, with_bad_language
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render
from radreward.synthesis.perturbations.error_operators import OPERATORS
from radreward.synthesis.perturbations.language_errors import (
    bad_grammar,
    bad_terminology,
    mrscore_errors,
    other_history,
)
from radreward.synthesis.report_styles import Style, sample_style
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import annotate

random_report = any_report(sample_style)

STYLE = Style("both", headed=True, history=True)


def _reference(seed: int) -> AnnotatedReport:
    rng = Random(seed)
    return render(sample_facts(rng), rng, STYLE)


def test_every_error_is_made_and_counted_as_the_text_says() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        rng, reference = Random(seed), _reference(seed)
        entry = draft(reference, seed % 3, random_report, like_report(reference, sample_style), sample_style, rng)
        if (changed := other_history(entry.report, rng)) is not None and rng.random() < 0.5:
            entry = entry._replace(report=changed)
        if entry.report.headed or len({sentence.section for sentence in entry.report.sentences}) == 1:
            again = Draft(annotate(entry.report.text), "again")
            assert all_errors(reference, entry) == all_errors(annotate(reference.text), again)
        with_language = all_errors(reference, with_bad_language(entry, Random(seed)))
        seen.update(tag for tag in MRScore().tags if with_language[tag])
    assert set(seen) == set(MRScore().tags)


def test_language_is_broken_and_no_fact() -> None:
    for seed in range(200):
        report = _reference(seed)
        for edit, flags in ((bad_grammar, (True, False)), (bad_terminology, (False, True))):
            edited = edit(report, Random(seed))
            if edited is None:
                continue
            assert edited.text != report.text
            assert edited.facts == report.facts
            errors = mrscore_errors(report, edited, *flags)
            made = {tag for tag, count in errors.items() if count}
            assert made == {"grammar" if flags[0] else "medical_terminology"}


def test_another_history_is_the_only_error() -> None:
    report = _reference(1)
    edited = other_history(report, Random(0))
    assert edited is not None
    assert {tag for tag, count in mrscore_errors(report, edited, False, False).items() if count} == {"clinical_history"}
    assert other_history(annotate("No edema."), Random(0)) is None


def test_what_an_error_of_fact_is_to_mrscore() -> None:
    tags = {
        "incorrect_location": {"description_of_lesions"},
        "incorrect_severity": {"description_of_lesions"},
        "omission": {"completeness"},
    }
    for seed in range(100):
        report = _reference(seed)
        for operator, expected in tags.items():
            edited = OPERATORS[operator](report, Random(seed))
            if edited is not None:
                made = {tag for tag, count in mrscore_errors(report, edited, False, False).items() if count}
                assert expected <= made <= expected | {"impression_consistency", "impression_organs"}


def test_no_error_against_itself() -> None:
    for seed in range(50):
        report = _reference(seed)
        assert not any(mrscore_errors(report, report, False, False).values())


def test_headings_keep_their_spelling_and_history_is_told_without_them() -> None:
    report = annotate("INDICATION: Cough. FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    for seed in range(50):
        edited = bad_terminology(bad_grammar(report, Random(seed)) or report, Random(seed)) or report
        assert all(f"{head}:" in edited.text for head in ("INDICATION", "FINDINGS", "IMPRESSION"))
        changed = other_history(report, Random(seed))
        assert changed is not None
        assert changed.text.startswith("INDICATION: ")
        assert changed.text.endswith("FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    same = annotate("Clinical history: Cough. FINDINGS: Small left effusion. IMPRESSION: Pneumonia.")
    assert not mrscore_errors(report, same, False, False)["clinical_history"]
