"""Candidates that state one finding correctly, partly correctly, or not."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.criteria.error_counting import compare_facts
from radreward.data.records import read_groups
from radreward.synthesis import synthesize
from radreward.synthesis.graded_candidates import PARTLY_RIGHT, GradedWriter, draft_graded
from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.findings import can_mean_same
from radreward.text.report_parser import parse_report

CRITERIA = RadCliQSignificanceCriteria()


@pytest.mark.parametrize(
    ("way", "stated", "partly"),
    [
        ("other severity", Fact("edema", severity="mild"), Fact("edema", severity="severe")),
        ("one of two sides", Fact("effusion", location="bilateral"), Fact("effusion", location="left")),
        ("one of two sides", Fact("opacity", location="bilateral lower"), Fact("opacity", location="right lower")),
        ("other side", Fact("effusion", location="left"), Fact("effusion", location="right")),
        ("more general name", Fact("pneumonia"), Fact("opacity")),
        ("more specific name", Fact("effusion"), Fact("empyema")),
        ("more specific name", Fact("deepsulcus", location="left"), Fact("pneumothorax", location="left")),
        ("more specific name", Fact("opacity"), Fact("mass")),
    ],
)
def test_ways_to_be_partly_right(way: str, stated: Fact, partly: Fact) -> None:
    assert partly in PARTLY_RIGHT[way](stated)
    reference = parse_report("Small left pneumothorax.").facts  # another finding
    weights = [compare_facts([stated, *reference], [*facts, *reference]).weights for facts in ([stated], [partly], [])]
    right, partial, missed = (entry.matched / (entry.matched + entry.wrong) for entry in weights)
    assert right == 1.0
    assert partial >= missed


def test_candidates_differ_in_one_finding_that_is_right_partly_right_missing_or_replaced() -> None:
    effusion, scoliosis = Fact("effusion", location="right", severity="moderate"), Fact("scoliosis")
    sentences = Sentence("Moderate right effusion.", (effusion,)), Sentence("Scoliosis.", (scoliosis,))
    reference = AnnotatedReport(sentences)
    drafted = replaced = 0
    for seed in range(40):
        texts = [draft.report for draft in draft_graded(reference, 4, Random(seed))]
        if texts:
            drafted += 1
            right = [report for report in texts if set(reference.facts) <= set(report.facts)]
            assert right
            for report in texts:
                changed = set(right[0].facts) ^ set(report.facts)
                assert len(changed) <= 2
                replaced += any(not can_mean_same("effusion", fact.finding) for fact in changed)
            weights = sorted({compare_facts(reference.facts, report.facts).weights for report in texts})
            assert len(weights) >= 3
    assert drafted >= 10
    assert replaced == drafted, "one candidate of each group states another finding instead"


def test_report_without_a_finding_has_no_graded_candidates() -> None:
    assert draft_graded(parse_report("No effusion."), 3, Random(0)) == []


def test_groups_are_reproducible_and_their_qualities_differ(tmp_path: Path) -> None:
    command = "synthesize --candidates graded --groups 30 --per-reference 4 --seed 5 --output"
    assert main([*command.split(), str(tmp_path)]) == 0
    groups = list(read_groups(tmp_path / "groups.parquet", CRITERIA))
    again = list(synthesize(CRITERIA, 30, 4, seed=5, candidates=GradedWriter()))
    assert [group.reference for group in groups] == [group.reference for group in again]
    assert {candidate.system for group in groups for candidate in group.candidates} == {"graded"}
    numbers = Counter(len({candidate.finding_weights for candidate in group.candidates}) for group in groups)
    assert sum(count for number, count in numbers.items() if number >= 3) >= 20, numbers
