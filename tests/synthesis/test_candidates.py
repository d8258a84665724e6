from collections.abc import Mapping
from random import Random
from statistics import mean

import pytest

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.synthesis.candidate_writer import Reference
from radreward.synthesis.candidates import (
    check_criteria,
    edit_candidate,
    judge_draft,
    random_report_source,
    rewrite_candidate,
)
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import brief_style, sample_style
from radreward.synthesis.tier_writer import draft_candidate
from radreward.synthesis.tiers import TIER_ERRORS
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import parse_report

random_report = random_report_source(sample_style)


def _errors(reference: AnnotatedReport, tier: int, seed: int) -> Mapping[str, int]:
    draft = draft_candidate(Reference.among_generated(reference, sample_style), tier, Random(seed))
    return judge_draft(reference, draft).errors


def test_draft_candidate_tiers_are_ordered() -> None:
    totals = {
        tier: [
            sum(_errors(random_report(Random(seed)), tier, seed)[tag] for tag in RadCliQCriteria().tags)
            for seed in range(70)
        ]
        for tier in range(3)
    }
    assert mean(totals[0]) + 0.7 < mean(totals[1])
    assert mean(totals[1]) + 0.7 < mean(totals[2])
    assert max(totals[0]) <= TIER_ERRORS[0][1]


def test_tier_zero_candidates_have_no_errors() -> None:
    for seed in range(50):
        reference = random_report(Random(seed))
        for entry in (
            edit_candidate(reference, 0, Random(seed)),
            rewrite_candidate(reference, 0, sample_style, Random(seed)),
            rewrite_candidate(reference, 0, brief_style, Random(seed)),
        ):
            errors = judge_draft(reference, entry).errors
            assert not any(errors[tag] for tag in RadCliQCriteria().tags)


def test_draft_candidate_uses_every_system() -> None:
    systems = set()
    for seed in range(300):
        reference = random_report(Random(seed))
        draft = draft_candidate(Reference.among_generated(reference, sample_style), seed % 3, Random(seed))
        systems.add(draft.system)
    assert systems == {"edited", "rewritten", "random", "neighbour", "removed and shuffled", "normal"}


def test_draft_candidate_only_edits_partially_parsed_reference() -> None:
    reference = parse_report("Small left pleural effusion near the shrapnel. Scoliosis. No edema.")
    for seed in range(60):
        entry = draft_candidate(Reference.among_generated(reference, sample_style), seed % 3, Random(seed))
        assert entry.system == "edited"
        assert "effusion near the shrapnel." in entry.report.text


def test_render_report_varies_wording() -> None:
    shared = total = 0
    for seed in range(400):
        facts = sample_facts(Random(seed))
        first, second = (render_report(facts, Random(f"{seed}:{n}")) for n in range(2))
        sentences = [
            {entry.text.lower() for entry in report.sentences if any(fact.positive for fact in entry.facts)}
            for report in (first, second)
        ]
        shared += len(sentences[0] & sentences[1])
        total += len(sentences[0])
    assert total > 900
    assert shared < 0.02 * total


def test_check_criteria_unsupported_raises() -> None:
    for criteria in (
        RadCliQCriteria(),
        RadCliQSignificanceCriteria(),
        MRScoreCriteria(),
        Criteria("own", [RadCliQCriteria().criteria[1]]),
    ):
        check_criteria(criteria)
    own = Criteria("own", [Criterion("tone", "Rude."), RadCliQCriteria().criteria[1], Criterion("length", "Long.")])
    with pytest.raises(
        InputError, match=r"criteria own.*cannot make tone, length \(of these criteria, only omission\)"
    ):
        check_criteria(own)
