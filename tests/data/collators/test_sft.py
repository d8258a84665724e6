"""Tests of the SFT collator: labels on answer tokens only, packed and unpacked."""

import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.sft import IGNORE_INDEX, CountsOnlyWriter, SFTCollator
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


def test_labels_are_exactly_the_answers() -> None:
    sft = collator()
    batch = sft.collate(GROUPS)
    expected = {tuple(sft.prompt_encoder.encode_answer(answer)) for answer in batch.answers}
    labelled = set()
    for labels in torch.split(batch.labels, batch.packed.node_lengths.tolist()):
        labelled.add(tuple(labels[labels != IGNORE_INDEX].tolist()))
    labelled.remove(())
    assert labelled == expected
    assert int((batch.labels != IGNORE_INDEX).sum()) == sum(
        len(sft.prompt_encoder.encode_answer(answer)) for answer in batch.answers
    )


def test_label_is_the_next_token() -> None:
    batch = collator().collate(GROUPS[:1])
    lengths = batch.packed.node_lengths.tolist()
    nodes = list(zip(torch.split(batch.packed.input_ids, lengths), torch.split(batch.labels, lengths), strict=True))
    for tokens, labels in (nodes[node] for node in batch.packed.leaf_nodes.tolist()):
        at = (labels != IGNORE_INDEX).nonzero().flatten()
        assert labels[at].tolist() == tokens[at + 1].tolist()
        assert int(at[-1]) == len(tokens) - 2


def test_unpacked_has_the_same_tokens_and_labels() -> None:
    sft = collator()
    batch = sft.collate(GROUPS)
    rows, labels = batch.unpacked()
    assert len(rows.input_ids) > len(batch.packed.input_ids)
    assert unpack(rows) == unpack(batch.packed)
    assert torch.equal(
        labels[labels != IGNORE_INDEX].sort().values, batch.labels[batch.labels != IGNORE_INDEX].sort().values
    )


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
