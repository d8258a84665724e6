from random import Random

import pytest

from radreward.criteria.error_counting import count_errors, to_radcliq_counts
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.perturbations.report_edits import drop_and_shuffle
from radreward.synthesis.report_pool import ReportPool
from radreward.synthesis.report_styles import sample_style
from radreward.text.report_parser import PartiallyParsedSentence, parse_report

random_report = random_report_source(sample_style)

TEXTS = [
    "Small left pleural effusion. No pneumothorax.",
    "Small left pleural effusion. No edema.",
    "Moderate left pleural effusion. No pneumothorax.",
    "Right upper lobe mass. Hiatal hernia.",
    "Scoliosis. Right upper lobe mass.",
    "Shrapnel in the left shoulder, and no effusion beside it.",
]


@pytest.fixture
def pool() -> ReportPool:
    return ReportPool([parse_report(text) for text in TEXTS], num_neighbors=2)


def test_sample_other_covers_all_parsed_reports(pool: ReportPool) -> None:
    for index in range(5):
        sampled = {pool.sample_other(index, Random(seed)).text for seed in range(200)}
        assert sampled == {text for text in TEXTS[:5] if text != TEXTS[index]}


def test_sample_neighbor_returns_similar_reports(pool: ReportPool) -> None:
    assert {pool.sample_neighbor(0, Random(seed)).text for seed in range(50)} == {TEXTS[1], TEXTS[2]}
    assert TEXTS[3] in {pool.sample_neighbor(4, Random(seed)).text for seed in range(50)}


def test_sample_neighbor_excludes_own_index() -> None:
    pool = ReportPool([parse_report("No edema.")] * 5, num_neighbors=2)
    assert all(pool.sample_neighbor(index, Random(0)).text == "No edema." for index in range(5))


def test_report_pool_too_few_reports_raises() -> None:
    with pytest.raises(ValueError, match="at least two reports"):
        ReportPool([parse_report(TEXTS[0])])
    assert not ReportPool([parse_report(TEXTS[0]), parse_report(TEXTS[5])]).can_pair


def test_drop_and_shuffle_causes_omissions_only() -> None:
    for seed in range(200):
        rng = Random(seed)
        report = random_report(rng)
        edited = drop_and_shuffle(report, rng)
        assert set(edited.sentences) <= set(report.sentences)
        assert 1 <= len(edited.sentences) <= len(report.sentences)
        tags = {tag for tag, n in to_radcliq_counts(count_errors(report.facts, edited.facts)).items() if n}
        assert tags <= {"omission", "omission_of_comparison"}


def test_drop_and_shuffle_preserves_partially_parsed_sentences() -> None:
    report = parse_report("FINDINGS: Scar. Shrapnel on the left. No edema. IMPRESSION: Scoliosis.")
    partially_parsed = [entry for entry in report.sentences if isinstance(entry, PartiallyParsedSentence)]
    removed = 0
    for seed in range(50):
        edited = drop_and_shuffle(report, Random(seed))
        assert [entry for entry in edited.sentences if isinstance(entry, PartiallyParsedSentence)] == partially_parsed
        removed += len(edited.sentences) < len(report.sentences)
    assert removed > 10
