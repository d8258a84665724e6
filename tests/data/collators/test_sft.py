"""Tests of the SFT collator: labels on answer tokens only, packed and unpacked."""

import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.sft import CountsOnlyWriter, SFTCollator
from radreward.data.packing import unpack
from radreward.errors import InputError, TooLongError
from radreward.synthesis import synthesize
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.types import Candidate, ReportGroup

GROUPS = list(synthesize(RadCliQCriteria(), 4, seed=3, granularity="plain"))


def collator(**settings: object) -> SFTCollator:
    options = {
        "template": RadReasonTemplate(include_instruction=False),
        "analysis_writer": FactAnalysisWriter(vary_wording=False),
        **settings,
    }
    return SFTCollator(RadCliQCriteria(), tokenizer="tiny-generator", **options)  # type: ignore[arg-type]


def test_targets_are_exactly_the_answers() -> None:
    sft = collator()
    batch = sft.collate(GROUPS)
    expected = [sft.prompt_encoder.encode_answer(answer) for answer in batch.answers]
    assert batch.targets.ids.tolist() == sum(expected, [])
    assert batch.num_tokens == sum(map(len, expected))


def test_target_is_the_next_token_of_the_candidate() -> None:
    batch = collator().collate(GROUPS[:1])
    columns = batch.targets.columns
    assert torch.equal(batch.packed.input_ids[columns + 1], batch.targets.ids)
    ends = torch.tensor(batch.packed.node_lengths).cumsum(0)[list(batch.packed.leaf_nodes)]
    assert set((ends - 2).tolist()) <= set(columns.tolist())


def test_unpacked_has_the_same_tokens_and_targets() -> None:
    batch = collator().collate(GROUPS)
    rows, targets = batch.unpacked()
    assert len(rows.input_ids) > len(batch.packed.input_ids)
    assert unpack(rows) == unpack(batch.packed)
    assert torch.equal(targets.ids, batch.targets.ids)


def test_answers_state_the_error_counts() -> None:
    sft = collator()
    batch = sft.collate(GROUPS)
    for answer, errors in zip(batch.answers, batch.error_counts.tolist(), strict=True):
        assert sft.template.parse(answer, RadCliQCriteria()).values == tuple(errors)


def test_answer_depends_on_reports_and_seed() -> None:
    varied = collator(analysis_writer=FactAnalysisWriter())
    assert varied.collate(GROUPS).answers == collator(analysis_writer=FactAnalysisWriter()).collate(GROUPS).answers
    assert (
        varied.collate(GROUPS).answers != collator(analysis_writer=FactAnalysisWriter(), seed=1).collate(GROUPS).answers
    )


def test_counts_only_writer_answer_is_parsable() -> None:
    group = ReportGroup("g", "a", (Candidate("b", dict.fromkeys(RadCliQCriteria().tags, 1.0)),))
    batch = collator(analysis_writer=CountsOnlyWriter()).collate([group])
    assert RadReasonTemplate().parse(batch.answers[0], RadCliQCriteria()).values == (1.0,) * 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": 5}, r"candidate 1: Expected at most 5 tokens.*Set a larger max_length"),
        (
            {"max_answer_length": 5},
            r"candidate 1: Expected an answer of at most 5 tokens.*Set a larger max_answer_length",
        ),
    ],
)
def test_prompt_or_answer_over_limit_raises(settings: dict[str, int], message: str) -> None:
    sft = collator(**settings)
    for operation in (sft.length, lambda group: sft.collate([group])):
        with pytest.raises(TooLongError, match=f"group '{GROUPS[0].id}', {message}"):
            operation(GROUPS[0])


def test_candidate_without_errors_raises() -> None:
    with pytest.raises(InputError, match="group 'g', candidate 1"):
        collator().collate([ReportGroup("g", "a", (Candidate("b"),))])


def test_length_equals_the_tokens_of_a_group() -> None:
    sft = collator()
    assert [sft.length(group) for group in GROUPS] == [len(sft.collate([group]).packed.input_ids) for group in GROUPS]
