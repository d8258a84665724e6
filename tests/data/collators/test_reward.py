import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.prompt_encoder import PromptEncoder, PromptTooLongError
from radreward.errors import InputError
from radreward.prompts import PlainPairTemplate, PromptTemplate
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.types import Candidate, FindingWeights, LocatedError, ReportGroup, Side

NONE = dict.fromkeys(RadCliQCriteria().tags, 0.0)


def _group(*omissions: float, text: str = "Large effusion.") -> ReportGroup:
    return ReportGroup("a", "Small effusion.", tuple(Candidate(text, {**NONE, "omission": o}) for o in omissions))


def test_collate_has_targets_and_pairs_within_groups_only() -> None:
    batch = RewardCollator(RadCliQCriteria(), "tiny-bert").collate([_group(0, 2), _group(1, 1, 0)])
    assert batch.targets.group.tolist() == [0, 0, 1, 1, 1]
    assert batch.targets.pairs.tolist() == [[0, 1], [4, 2], [4, 3]]
    assert torch.equal(batch.targets.rewards[:, 1], torch.tensor([0.0, -2, -1, -1, 0]))
    assert (batch.ids, batch.num_truncated) == (("a", "a"), 0)


def test_collate_has_findings_where_they_are_known() -> None:
    group = _group(0, 1)
    known = group.candidates[0]._replace(finding_weights=FindingWeights(0.5, 0.25))
    batch = RewardCollator(RadCliQCriteria(), "tiny-bert").collate([group._replace(candidates=(known, *group[2][1:]))])
    assert torch.equal(batch.targets.finding_weights[0], torch.tensor([0.5, 0.25]))
    assert batch.targets.finding_weights[1].isnan().all()


def test_collate_has_located_errors_unless_they_are_turned_off() -> None:
    collator, group = RewardCollator(RadCliQCriteria(), "tiny-bert"), _group(1, 0)
    located = LocatedError(Side.CANDIDATE, ("Large effusion.",), {"omission": 1.0}, 0.5)
    known = group.candidates[0]._replace(located_errors=(located,))
    group = group._replace(candidates=(known, group.candidates[1]))
    targets = collator.collate([group]).targets.located_errors
    assert targets is not None
    assert targets.amounts[:, 1].sum() == 1
    assert targets.amounts[:, -1].sum() == 0.5
    assert (targets.candidate[0] >= 0).any()
    assert (targets.candidate[1] == -1).all()
    collator.locates_errors = False
    assert collator.collate([group]).targets.located_errors is None


def test_collate_prompt_over_limit_names_group_and_candidate() -> None:
    collator = RewardCollator(RadCliQCriteria(), "tiny-bert", max_length=20)
    with pytest.raises(InputError, match=r"group 'a', candidate 1: .* at most 20 tokens but the prompt has"):
        collator.collate([_group(0, 1)])


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-llama", "embedded"])
@pytest.mark.parametrize("template", [PlainPairTemplate(), InstructionTemplate()])
@pytest.mark.parametrize("num_excess_tokens", range(0, 24, 3))
def test_encode_truncation_preserves_beginnings_and_template(
    name: str, template: PromptTemplate, num_excess_tokens: int
) -> None:
    encoder = PromptEncoder(name, RadCliQCriteria(), template, 10_000)
    texts = "Small left effusion, no pneumothorax.", "An enlarged cardiac silhouette."
    path = encoder.token_segments(*texts)
    room = encoder.segment_tokenizer.length(texts[0]) + encoder.segment_tokenizer.length(texts[1])
    limit = sum(map(len, path)) - min(num_excess_tokens, room - 2)
    shorter, was_truncated = PromptEncoder(name, RadCliQCriteria(), template, limit).encode(*texts, truncate=True)
    truncated = shorter.segments
    assert limit - 2 <= sum(map(len, truncated)) <= limit
    assert was_truncated == (limit < sum(map(len, path)))
    assert [piece[:3] for piece in truncated] == [piece[:3] for piece in path] or num_excess_tokens > 8
    assert [piece[-1] for piece in truncated][-1] == path[-1][-1] or isinstance(template, PlainPairTemplate)


def test_collate_counts_truncated_prompts() -> None:
    batch = RewardCollator(RadCliQCriteria(), "tiny-bert", max_length=20, on_too_long="truncate").collate(
        [_group(0, 1)]
    )
    assert batch.num_truncated == 2


def test_encode_template_without_room_raises() -> None:
    with pytest.raises(PromptTooLongError, match="leaves none"):
        PromptEncoder("tiny-llama", RadCliQCriteria(), InstructionTemplate(), 100).encode("a", "b", truncate=True)


def test_collate_missing_or_unknown_errors_name_group_and_candidate() -> None:
    collator = RewardCollator(RadCliQCriteria(), "tiny-bert")
    with pytest.raises(InputError, match="group 'a', candidate 1: Expected error counts by criterion"):
        collator.collate([ReportGroup("a", "x", (Candidate("y"),))])
    with pytest.raises(InputError, match="group 'a', candidate 1: unknown criterion 'noise'"):
        collator.collate([ReportGroup("a", "x", (Candidate("y", {"noise": 1.0}),))])


@pytest.mark.parametrize("text", ["[SEP] [CLS]", "</s><s>", "<|eot_id|>", "<pad>"])
@pytest.mark.parametrize("name", ["embedded", "tiny-bert", "tiny-llama"])
def test_report_text_never_becomes_a_special_token(name: str, text: str) -> None:
    prompts = PromptEncoder(name, RadCliQCriteria(), PlainPairTemplate(), 512)
    plain, modified = prompts.token_segments("a", "b"), prompts.token_segments("a", f"b{text}")
    special = set(prompts.segment_tokenizer.tokenizer.all_special_ids)
    counts = [sum(token in special for piece in path for token in piece) for path in (plain, modified)]
    assert counts[0] == counts[1]


def test_token_segments_do_not_depend_on_later_text() -> None:
    prompts = PromptEncoder("embedded", RadCliQCriteria(), InstructionTemplate(), 512)
    assert prompts.token_segments("one", "effusion")[:2] == prompts.token_segments("one", "s are clear")[:2]
