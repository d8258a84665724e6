"""Answers against those that were written, counted by hand."""

import logging

import pytest
import torch

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.modules import generation_metrics as answers
from radreward.modules.count_metrics import PredictedCounts
from radreward.modules.generation_metrics import (
    SIMILARITY_METRICS,
    GenerationBatch,
    TextSimilarity,
    green_score_errors,
    summarize_generations,
)
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.scorers import load
from radreward.systems.green.prompt import GreenTemplate

WANTED = ["The effusion is left out.", "Nothing is wrong.", "The edema is not mild."]
GIVEN = ["The effusion is left out.", "", "The edema is severe."]
NONE = torch.full((2, 3), torch.nan)


def seen(values: torch.Tensor, errors: torch.Tensor, likeness: torch.Tensor = NONE) -> GenerationBatch:
    rows = torch.ones(len(values), dtype=torch.bool)
    return GenerationBatch(
        PredictedCounts(values, errors, ("a",) * len(values)),
        rows,
        ~rows,
        likeness,
        rows,
        torch.full((len(values), 2), torch.nan),
    )


def test_likeness_is_that_of_the_scorers_of_the_same_names() -> None:
    found, cut = TextSimilarity(torch.device("cpu"))(WANTED, GIVEN, with_bertscore=True)
    assert not cut.any()
    assert found[1].tolist() == [0, 0, 0], "nothing was said"
    kept = [0, 2]
    for place, name in enumerate(("bleu-4", "rouge-l", "bertscore")):
        expected = load(name).score([WANTED[row] for row in kept], [GIVEN[row] for row in kept]).total
        torch.testing.assert_close(found[kept, place], expected)
    assert found[0].tolist() == pytest.approx([1, 1, 1])


def test_bertscore_is_measured_where_it_is_asked_for_and_beginnings_are_counted() -> None:
    likeness = TextSimilarity(torch.device("cpu"))
    assert likeness(WANTED, GIVEN, with_bertscore=False)[0].isnan().all(0).tolist() == [False, False, True]
    assert likeness(WANTED[:2], [WANTED[0] * 100, WANTED[1]], with_bertscore=True)[1].tolist() == [True, False]


def test_what_is_not_installed_is_left_out_and_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(**_: object) -> None:
        raise InputError("No encoder.")

    monkeypatch.setattr(answers, "find_spec", lambda name: None)
    monkeypatch.setattr(answers, "TextEncoder", none)
    with caplog.at_level(logging.WARNING):
        likeness = TextSimilarity(torch.device("cpu"))
        for _ in range(2):
            found, cut = likeness(WANTED, GIVEN, with_bertscore=True)
    assert found.isnan().all()
    assert not cut.any()
    assert [record.getMessage() for record in caplog.records] == [
        "BLEU and ROUGE-L of answers need the extra `lexical`: they are left out.",
        "BERTScore of answers is left out. No encoder.",
    ]
    zero = torch.zeros(3, 12)
    figures = summarize_generations(seen(zero, zero, found), RadCliQSignificanceCriteria())
    assert all(figures[name] is None and figures[f"{name}_sd"] is None for name in SIMILARITY_METRICS)


def test_errors_that_matter_and_those_that_do_not_are_counted_apart() -> None:
    errors = torch.zeros(3, 12)
    values = errors.clone()
    values[0, [0, 5]], values[0, 6] = 2, 1  # 4 and 1 too many
    values[1, 0], errors[1, 1] = 1, 1  # another category, the same sum
    values[2, 0], values[2, 11] = torch.nan, 3
    figures = summarize_generations(seen(values, errors, torch.full((3, 3), torch.nan)), RadCliQSignificanceCriteria())
    assert (figures["significant_mae"], figures["significant_sd"]) == (2, 2)
    assert figures["insignificant_mae"] == pytest.approx(4 / 3)
    assert figures["insignificant_sd"] == pytest.approx(
        (((1 - 4 / 3) ** 2 + (4 / 3) ** 2 + (3 - 4 / 3) ** 2) / 3) ** 0.5
    )
    assert (figures["candidates"], figures["valid"], figures["finished"], figures["bertscore_cut"]) == (3, 1, 0, 1)


def test_criteria_without_significance_have_no_such_sums() -> None:
    figures = summarize_generations(
        seen(torch.zeros(2, 6), torch.zeros(2, 6), torch.tensor([[0.5, 1, 0], [1, 1, 0.0]])), RadCliQCriteria()
    )
    assert figures["significant_mae"] is None
    assert figures["insignificant_sd"] is None
    assert (figures["bleu_4"], figures["bleu_4_sd"], figures["rouge_l_sd"]) == (0.75, 0.25, 0)


def test_green_differs_by_what_both_answers_say() -> None:
    def answer(significant: int, matched: int) -> str:
        values = (float(significant), *(0.0,) * 11)
        analysis = ErrorAnalysis(values, "Why.", ((),) * 12, ("a finding",) * matched)
        return GreenTemplate().render_answer(analysis, RadCliQSignificanceCriteria())

    # 1 / (1 + 1) against 3 / (3 + 1)
    assert green_score_errors(answer(1, 1), answer(1, 3), RadCliQSignificanceCriteria()) == (2, 0.25)
    unread = green_score_errors("I cannot.", answer(1, 3), RadCliQSignificanceCriteria())
    assert torch.tensor(unread).isnan().all()
