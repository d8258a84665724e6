"""Candidates in other words beside copies with an error."""

import re
from pathlib import Path
from random import Random

from radreward.cli import main
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.criteria.error_counting import compare_facts
from radreward.data.records import read_groups
from radreward.synthesis import synthesize
from radreward.synthesis.contrast_candidates import ContrastWriter, draft_contrast, reword
from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.report_parser import parse_report
from radreward.types import ReportGroup

CRITERIA = RadCliQSignificanceCriteria()


def words(text: str) -> set[str]:
    return set(re.findall("[a-z]{3,}", text.lower()))


def shared(group: ReportGroup, is_right: bool) -> list[float]:
    """Return the share of each right or wrong candidate's words that the reference has."""
    kept = [entry.text for entry in group.candidates if (not sum((entry.errors or {}).values())) == is_right]
    return [len(words(text) & words(group.reference)) / len(words(text)) for text in kept]


def test_reworded_report_has_the_same_facts_and_keeps_sentences_without_facts() -> None:
    facts = Fact("effusion", location="left", severity="mild"), Fact("scoliosis")
    stated = Sentence("Small left pleural effusion.", facts[:1]), Sentence("Scoliosis.", facts[1:])
    technique = Sentence("Two views were obtained.", ())
    for seed in range(20):
        report = reword(AnnotatedReport((*stated, technique)), Random(seed))
        assert set(report.facts) == set(facts)
        assert technique.text in report.text
        assert "Small left pleural effusion." not in report.text


def test_wording_with_the_fewest_known_words_is_written() -> None:
    reference = AnnotatedReport((Sentence("There is a small left pleural effusion.", (Fact("effusion"),)),))
    overlaps = [words(reword(reference, Random(seed)).text) & words(reference.text) for seed in range(50)]
    assert sum(map(len, overlaps)) / len(overlaps) < 1


def test_partly_parsed_sentences_stay() -> None:
    text = "Left effusion, which the surgeon finds remarkable for other reasons."
    report = parse_report(text)
    assert report.facts
    assert text in reword(report, Random(0)).text


def test_candidates_are_a_correct_one_a_copy_with_an_error_and_any_of_both() -> None:
    reference = parse_report("Small left pleural effusion. Mild scoliosis.")
    for seed in range(30):
        reports = [draft.report for draft in draft_contrast(reference, 4, Random(seed))]
        errors = [bool(compare_facts(reference.facts, report.facts).errors) for report in reports]
        assert len(reports) == 4
        assert set(errors) == {True, False}
        assert any(
            has_error and len(words(report.text) & words(reference.text)) >= 2
            for report, has_error in zip(reports, errors, strict=True)
        )


def test_correct_candidates_share_fewer_words_than_wrong_ones(tmp_path: Path) -> None:
    command = "synthesize --candidates contrast --granularity statement --groups 60 --seed 5 --output"
    assert main([*command.split(), str(tmp_path)]) == 0
    groups = list(read_groups(tmp_path / "groups.parquet", CRITERIA))
    again = list(synthesize(CRITERIA, 60, 3, seed=5, granularity="statement", candidates=ContrastWriter()))
    assert [group.candidates for group in groups] == [group.candidates for group in again]
    right, wrong = ([share for group in groups for share in shared(group, is_right)] for is_right in (True, False))
    assert sum(right) / len(right) < sum(wrong) / len(wrong) - 0.1
