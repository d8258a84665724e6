from random import Random

import pytest

from radreward.synthesis.candidate_pairing import Pool, permuted, removed_and_shuffled
from radreward.synthesis.candidates import any_report
from radreward.synthesis.error_counting import count_errors, radcliq_errors
from radreward.synthesis.report_styles import sample_style
from radreward.text.report_parser import Excerpt, annotate, wholly_read

random_report = any_report(sample_style)

TEXTS = [
    "Small left pleural effusion. No pneumothorax.",
    "Small left pleural effusion. No edema.",
    "Moderate left pleural effusion. No pneumothorax.",
    "Right upper lobe mass. Hiatal hernia.",
    "Scoliosis. Right upper lobe mass.",
    "Shrapnel in the left shoulder, and no effusion beside it.",
]


@pytest.fixture
def pool() -> Pool:
    return Pool([annotate(text) for text in TEXTS], nearest=2)


def test_random_draws_every_other_report_that_was_read(pool: Pool) -> None:
    for index in range(5):
        drawn = {pool.random(index, Random(seed)).text for seed in range(200)}
        assert drawn == {text for text in TEXTS[:5] if text != TEXTS[index]}


def test_neighbours_are_alike(pool: Pool) -> None:
    assert {pool.neighbour(0, Random(seed)).text for seed in range(50)} == {TEXTS[1], TEXTS[2]}
    assert TEXTS[3] in {pool.neighbour(4, Random(seed)).text for seed in range(50)}


def test_equal_reports_are_no_neighbours_of_themselves() -> None:
    pool = Pool([annotate("No edema.")] * 5, nearest=2)
    assert all(pool.neighbour(index, Random(0)).text == "No edema." for index in range(5))


def test_too_few_reports() -> None:
    with pytest.raises(ValueError, match="at least two reports"):
        Pool([annotate(TEXTS[0])])
    assert not Pool([annotate(TEXTS[0]), annotate(TEXTS[5])]).pairs


def test_removal_leaves_sentences_of_the_report_and_only_omissions() -> None:
    for seed in range(200):
        rng = Random(seed)
        report = random_report(rng)
        rest = removed_and_shuffled(report, rng)
        assert set(rest.sentences) <= set(report.sentences)
        assert 1 <= len(rest.sentences) <= len(report.sentences)
        made = {tag for tag, n in radcliq_errors(count_errors(report.facts, rest.facts)).items() if n}
        assert made <= {"omission", "omission_of_comparison"}


def test_removal_keeps_what_was_not_read() -> None:
    report = annotate("FINDINGS: Scar. Shrapnel on the left. No edema. IMPRESSION: Scoliosis.")
    kept = [entry for entry in report.sentences if isinstance(entry, Excerpt)]
    removed = 0
    for seed in range(50):
        rest = removed_and_shuffled(report, Random(seed))
        assert [entry for entry in rest.sentences if isinstance(entry, Excerpt)] == kept
        removed += len(rest.sentences) < len(report.sentences)
    assert removed > 10


def test_a_permutation_is_one_error() -> None:
    for seed in range(200):
        rng = Random(seed)
        report = random_report(rng)
        changed = permuted(report, rng)
        assert changed is not None
        assert sum(radcliq_errors(count_errors(report.facts, changed.facts)).values()) == 1
    assert permuted(annotate(""), Random(0)) is None


def test_wholly_read() -> None:
    assert [wholly_read(annotate(text)) for text in TEXTS] == [True] * 5 + [False]
