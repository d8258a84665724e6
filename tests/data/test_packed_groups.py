"""Groups to batches: what is cut, what is refused, what report text cannot do."""

import pytest

from radreward.criteria import Criteria, RadCliQ
from radreward.data.packed_groups import PackedGroups, TooLong
from radreward.data.packing import unpack
from radreward.errors import InputError
from radreward.prompts import InstructionTemplate, PairTemplate
from radreward.types import Candidate, ReportGroup

ONE = Criteria("one", [{"name": "tone", "description": "Rude."}])


def _collator(limit: int = 64, too_long: TooLong = "error", family: str = "tiny-bert") -> PackedGroups:
    return PackedGroups(family, ONE, PairTemplate(), max_length=limit, too_long=too_long)


def test_targets_pairs_and_ids() -> None:
    tag = ONE.tags[0]
    candidates = (Candidate("Worse.", {tag: 2.0}), Candidate("Better.", {tag: 1.0}))
    batch = _collator().collate([ReportGroup("g", "Clear.", candidates)])
    assert batch.targets.pairs.tolist() == [[1, 0]]
    assert batch.targets.group.tolist() == [0, 0]
    assert batch.targets.quality.shape == (2, 1)
    assert batch.ids == ("g",)


def test_too_long_names_group_tokens_and_limit() -> None:
    group = ReportGroup("g7", "a" * 50, (Candidate("b" * 50, {ONE.tags[0]: 0.0}),))
    with pytest.raises(InputError, match=r"group 'g7': 103 tokens but at most 64"):
        _collator().collate([group])


@pytest.mark.parametrize(("reference", "candidate", "kept"), [(50, 50, (5, 6)), (2, 50, (2, 9)), (50, 3, (8, 3))])
def test_truncation_keeps_both_beginnings_and_counts(reference: int, candidate: int, kept: tuple[int, int]) -> None:
    collator = _collator(14, "truncate")
    (path,) = unpack(collator.pack_pairs(["a" * reference], ["b" * candidate]))
    assert (len(path[0]) - 2, len(path[1]) - 1) == kept
    assert collator.truncated == 1


def test_truncation_keeps_the_end_of_the_prompt() -> None:
    collator = PackedGroups("tiny-llama", RadCliQ(), InstructionTemplate(), max_length=4096)
    room = sum(map(len, collator.fit("a", "b", "x").pieces)) + 8
    short = PackedGroups("tiny-llama", RadCliQ(), InstructionTemplate(), max_length=room, too_long="truncate")
    pieces = short.fit("a" * 99, "b" * 99, "x").pieces
    assert sum(map(len, pieces)) == room
    assert short.tokens.tokenizer.decode(pieces[-1]) == "b" * 5 + "\n\nJudgement:"


def test_no_room_is_an_error() -> None:
    with pytest.raises(InputError, match="leaves no room"):
        _collator(4, "truncate").pack_pairs(["aaaa"], ["bbbb"])


@pytest.mark.parametrize("family", ["tiny-bert", "tiny-llama", "embedded"])
@pytest.mark.parametrize("text", ["[SEP]", "</s>", "<|eot_id|>", "[CLS]", "<pad>"])
def test_report_text_is_never_a_special_token(family: str, text: str) -> None:
    tokens = _collator(family=family).tokens
    special = set(tokens.tokenizer.all_special_ids) - {tokens.tokenizer.unk_token_id}
    assert not special & set(tokens._encode(f"Clear {text} lungs"))


def test_an_empty_report_is_refused() -> None:
    with pytest.raises(InputError, match="pair 1"):
        _collator().pack_pairs(["a", "b"], ["c", " "])


def test_pieces_are_tokenised_apart() -> None:
    collator = _collator(family="embedded")
    path = unpack(collator.pack_pairs(["pneumo"], ["thorax"]))[0]
    assert path[0][1:-1] + path[1][:-1] != list(collator.tokens._encode("pneumothorax"))
