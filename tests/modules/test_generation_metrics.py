"""Comparison of generated with written answers, against values computed by hand."""

import logging

import pytest
import torch
from torch import Tensor

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.sft import SFTBatch, TargetTokens
from radreward.errors import InputError
from radreward.models.rollout_engine import Completion
from radreward.modules import generation_metrics
from radreward.modules.generation_metrics import (
    SIMILARITY_METRICS,
    GenerationBatch,
    TextSimilarity,
    compare_generations,
    summarize_generations,
)
from radreward.modules.predictions import PredictedCounts
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.scorers import load
from radreward.systems.green import GreenTemplate
from radreward.types import PackedBatch

WRITTEN = ["The effusion is left out.", "Nothing is wrong.", "The edema is not mild."]
GENERATED = ["The effusion is left out.", "", "The edema is severe."]


def generations(similarity: Tensor, statistic_errors: dict[str, Tensor] | None = None) -> GenerationBatch:
    counts, ones = torch.zeros(len(similarity), 6), torch.ones(len(similarity))
    columns = {
        "well_formed": ones,
        "finished": 1 - ones,
        **dict(zip(SIMILARITY_METRICS, similarity.T, strict=True)),
        "bertscore_truncated": ones,
        **(statistic_errors or {}),
    }
    return GenerationBatch(PredictedCounts(counts, counts, ("a",) * len(counts)), columns)


def green_answer(counts: Tensor, matched: int, criteria: Criteria) -> str:
    analysis = ErrorAnalysis(tuple(counts.tolist()), "Why.", ((),) * len(criteria), ("a finding",) * matched)
    return GreenTemplate().render_answer(analysis, criteria)


def compare(criteria: Criteria, written: list[str], generated: list[str], target: Tensor) -> GenerationBatch:
    packed = PackedBatch(torch.zeros(1), torch.zeros(1), (1,), (-1,), ((0,),), ((False,),))
    batch = SFTBatch(
        packed=packed,
        targets=TargetTokens(torch.zeros(1), torch.zeros(1)),
        error_counts=target,
        prompts=([],) * len(written),
        answers=tuple(written),
        report_pairs=(("a", "b"),) * len(written),
        ids=("first",),
        group=torch.zeros(len(written), dtype=torch.int64),
    )
    encoder = ChatPromptEncoder("tiny-llama", criteria, GreenTemplate())
    completions = [Completion((1,), (0.0,), text, "stop") for text in generated]
    none = torch.full((len(written),), torch.nan)
    similarity = dict.fromkeys(SIMILARITY_METRICS, none) | {"bertscore_truncated": torch.zeros(len(written))}
    return compare_generations(encoder, batch, completions, similarity)


def test_text_similarity_equals_scorers_of_the_same_names() -> None:
    similarity = TextSimilarity(torch.device("cpu"))(WRITTEN, GENERATED, with_bertscore=True)
    assert not similarity["bertscore_truncated"].any()
    values = torch.stack([similarity[name] for name in SIMILARITY_METRICS], 1)
    assert values[1].tolist() == [0, 0, 0], "an empty answer"
    rows = [0, 2]
    for column, name in enumerate(("bleu-4", "rouge-l", "bertscore")):
        expected = load(name).score([WRITTEN[row] for row in rows], [GENERATED[row] for row in rows]).total
        torch.testing.assert_close(values[rows, column], expected)
    assert values[0].tolist() == pytest.approx([1, 1, 1])


def test_text_similarity_computes_bertscore_on_request_and_marks_truncated_texts() -> None:
    similarity = TextSimilarity(torch.device("cpu"))
    without = similarity(WRITTEN, GENERATED, with_bertscore=False)
    assert [bool(without[name].isnan().all()) for name in SIMILARITY_METRICS] == [False, False, True]
    long = similarity(WRITTEN[:2], [WRITTEN[0] * 100, WRITTEN[1]], with_bertscore=True)
    assert long["bertscore_truncated"].tolist() == [1, 0]


def test_text_similarity_without_extras_is_skipped_with_one_warning_each(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_encoder(**_: object) -> None:
        raise InputError("No encoder.")

    monkeypatch.setattr(generation_metrics, "find_spec", lambda name: None)
    monkeypatch.setattr(generation_metrics, "TextEncoder", no_encoder)
    with caplog.at_level(logging.WARNING):
        text_similarity = TextSimilarity(torch.device("cpu"))
        for _ in range(2):
            similarity = text_similarity(WRITTEN, GENERATED, with_bertscore=True)
    values = torch.stack([similarity[name] for name in SIMILARITY_METRICS], 1)
    assert values.isnan().all()
    assert not similarity["bertscore_truncated"].any()
    assert [record.getMessage() for record in caplog.records] == [
        "BLEU and ROUGE-L of answers are skipped: they need the extra `lexical`.",
        "BERTScore of answers is skipped. No encoder.",
    ]
    summary = summarize_generations(generations(values))
    assert all(summary[name] is None and summary[f"{name}_std"] is None for name in SIMILARITY_METRICS)


def test_significant_and_insignificant_errors_are_compared_separately() -> None:
    criteria = RadCliQSignificanceCriteria()
    target = torch.zeros(3, 12)
    counts = target.clone()
    counts[0, [0, 5]], counts[0, 6] = 2, 1  # 4 and 1 too many
    counts[1, 0], target[1, 1] = 1, 1  # another category, the same sum
    counts[2, 11] = 3
    written = [green_answer(row, 0, criteria) for row in target]
    generated = [green_answer(row, 0, criteria) for row in counts]
    generated[2] = generated[2].replace(": 0.", ": two.", 1)
    summary = summarize_generations(compare(criteria, written, generated, target))
    assert (summary["significant_mae"], summary["significant_mae_std"]) == (2, 2)
    assert summary["insignificant_mae"] == pytest.approx(4 / 3)
    assert summary["insignificant_mae_std"] == pytest.approx(
        (((1 - 4 / 3) ** 2 + (4 / 3) ** 2 + (3 - 4 / 3) ** 2) / 3) ** 0.5
    )
    assert (summary["candidates"], summary["finished"], summary["bertscore_truncated"]) == (3, 1, 0)
    assert summary["well_formed"] == pytest.approx(2 / 3)


def test_criteria_without_significance_have_no_such_sums() -> None:
    criteria = RadCliQCriteria()
    answers = [green_answer(torch.zeros(6), 1, criteria)] * 2
    batch = compare(criteria, answers, answers, torch.zeros(2, 6))
    assert {name for name in batch.columns if name.endswith("_mae")} == {"matched_mae", "score_mae"}


def test_summary_has_means_and_deviations_of_similarity() -> None:
    summary = summarize_generations(generations(torch.tensor([[0.5, 1, 0], [1, 1, 0.0]])))
    assert (summary["bleu_4"], summary["bleu_4_std"], summary["rouge_l_std"]) == (0.75, 0.25, 0)
    assert (summary["candidates"], summary["well_formed"], summary["finished"]) == (2, 1, 0)
    assert summary["bertscore_truncated"] == 1


def test_green_score_and_matched_findings_are_compared_with_the_written_answer() -> None:
    criteria = RadCliQSignificanceCriteria()
    counts = torch.zeros(12)
    counts[0] = 1
    written = green_answer(counts, 3, criteria)
    batch = compare(criteria, [written] * 2, [green_answer(counts, 1, criteria), "I cannot."], counts.repeat(2, 1))
    # 1 / (1 + 1) against 3 / (3 + 1)
    assert batch.columns["matched_mae"][0] == 2
    assert batch.columns["score_mae"][0] == 0.25
    assert batch.columns["matched_mae"][1].isnan()
    assert batch.columns["score_mae"][1].isnan()


def test_concatenate_keeps_order_of_all_parts() -> None:
    first = generations(torch.zeros(1, 3), {"score_mae": torch.tensor([1.0])})
    second = generations(torch.ones(2, 3), {"score_mae": torch.tensor([2.0, 3.0])})
    batch = GenerationBatch.concatenate([first, second])
    assert batch.columns["score_mae"].tolist() == [1, 2, 3]
    assert batch.columns["bleu_4"].tolist() == [0, 1, 1]
    assert batch.predicted.group_ids == ("a", "a", "a")
