import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria
from radreward.data.passage_targets import UNKNOWN, TokenPassages, join_passages, token_passages, unknown_passages
from radreward.data.tokenizer import SegmentTokenizer, byte_tokenizer
from radreward.errors import InputError
from radreward.types import LocatedErrors, PromptSegments, Side

CRITERIA = Criteria("two", [{"name": name, "description": "Any."} for name in ("one", "two")])
TOKENIZER = SegmentTokenizer(byte_tokenizer(encoder=True))  # [CLS] text [SEP]: a token per character
SEGMENTS = PromptSegments("", "No mass. Left effusion.", "Mild edema. Nodule. Left effusion. Scar.")


def _num_tokens(segments: PromptSegments) -> dict[Side, int]:
    reference, candidate = TOKENIZER.encode_segments(segments)
    return {"candidate": len(candidate), "reference": len(reference)}


def _passages(*passages: LocatedErrors, segments: PromptSegments = SEGMENTS) -> TokenPassages:
    return token_passages(passages, segments, _num_tokens(segments), CRITERIA, TOKENIZER, "candidate 1")


def test_every_statement_is_a_passage() -> None:
    passages = _passages(
        LocatedErrors("candidate", ("Nodule.",), {"one": 1.0}, 0.5), LocatedErrors("reference", ("Left",), {"two": 2.0})
    )
    text = SEGMENTS.candidate
    assert passages.of_token["candidate"].tolist() == [
        text[: index + 1].count(". ") if text[index] != " " else passages.of_token["candidate"][index].item()
        for index in range(len(text))
    ] + [4]
    assert len(passages.amounts) == 5 + 3  # statements, and what is outside of them
    assert passages.amounts[:, :2].tolist() == [[0, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 2], [0, 0]]
    assert passages.amounts[:, 2].isnan().all()
    assert passages.amounts[:2, 3].tolist() == [0.0, 0.5]
    assert passages.amounts[6, 3].isnan()  # the passage does not state what is wrong
    reference = passages.of_token["reference"]
    assert reference[0] == reference[-1] == 7  # [CLS] and [SEP]
    assert set(reference.tolist()) == {5, 6, 7}


def test_statements_of_one_passage_are_joined_and_so_are_passages_with_a_common_statement() -> None:
    passages = _passages(
        LocatedErrors("candidate", ("Mild edema.", "Scar."), {"one": 1.0}),
        LocatedErrors("candidate", ("Nodule.", "Scar."), {"one": 1.0, "two": 1.0}),
    )
    assert torch.unique(passages.of_token["candidate"]).tolist() == [0, 2, 4]
    assert passages.amounts[:5, :2].tolist() == [[2, 1], [0, 0], [0, 0], [0, 0], [0, 0]]


def test_whole_statements_are_found_before_parts_of_statements() -> None:
    segments = PromptSegments("", "Clear.", "no effusion. effusion. scar. effusion.")
    passages = _passages(LocatedErrors("candidate", ("effusion.",), {"one": 1.0}), segments=segments)
    assert torch.unique(passages.of_token["candidate"]).tolist() == [0, 1, 2, 4]
    assert passages.amounts[:5, 0].tolist() == [0, 1, 0, 0, 0]


def test_a_passage_may_span_statements_or_lie_beyond_the_truncated_tokens() -> None:
    passage = LocatedErrors("candidate", ("edema. Nodule",), {"one": 1.0})
    assert torch.unique(_passages(passage).of_token["candidate"]).tolist() == [0, 2, 3, 4]
    short = token_passages(
        [LocatedErrors("candidate", ("Scar.",), {"one": 1.0})],
        SEGMENTS,
        {"candidate": 12, "reference": 3},
        CRITERIA,
        TOKENIZER,
        "candidate 1",
    )
    assert short.of_token["candidate"].tolist() == [0] * 11 + [4]  # "Mild edema.", and the space after it


@pytest.mark.parametrize(
    ("passage", "message"),
    [
        (
            LocatedErrors("candidate", ("No mass.",), {"one": 1.0}),
            "candidate 1, field 'located_errors': Expected a part of the candidate's text but got 'No mass.'",
        ),
        (
            LocatedErrors("reference", ("No mass.",), {"three": 1.0}),
            "candidate 1, field 'located_errors': Expected errors by the tags of two but got three",
        ),
    ],
)
def test_bad_located_errors(passage: LocatedErrors, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _passages(passage)


def test_join_passages_numbers_candidates_one_after_the_other() -> None:
    other = PromptSegments("", "No mass.", "Scar.")
    known = _passages(LocatedErrors("candidate", ("Scar.",), {"one": 1.0}), segments=other)
    joined = join_passages([known, unknown_passages({"candidate": 9, "reference": 2}, 2), known])
    assert joined.amounts.shape == (2 * len(known.amounts), 4)
    assert (joined.candidate[1] == UNKNOWN).all()
    assert (joined.reference[1] == UNKNOWN).all()
    assert (joined.candidate[0, 6:] == UNKNOWN).all()  # five characters and [SEP], then padding
    assert torch.equal(joined.candidate[2, :6], joined.candidate[0, :6] + len(known.amounts))


@given(
    st.lists(st.sampled_from(["Mild edema.", "Nodule.", "Left effusion.", "Scar.", "No mass."]), max_size=6), st.data()
)
def test_amounts_are_kept_whatever_is_joined(sentences: list[str], data: st.DataObject) -> None:
    segments = PromptSegments("", "No mass.", " ".join(["Clear.", *sentences]))
    passage = st.builds(
        LocatedErrors,
        st.just("candidate"),
        st.lists(st.sampled_from(["Clear.", *sentences]), min_size=1, max_size=3).map(tuple),
        st.fixed_dictionaries({"one": st.integers(0, 3).map(float), "two": st.integers(0, 3).map(float)}),
        st.floats(0, 4),
    )
    passages = data.draw(st.lists(passage, max_size=4))
    located = _passages(*passages, segments=segments)
    for column, expected in (
        (0, sum(entry.errors["one"] for entry in passages)),
        (1, sum(entry.errors["two"] for entry in passages)),
        (3, sum(entry.wrong or 0.0 for entry in passages)),
    ):
        assert math.isclose(float(located.amounts[:, column].sum()), expected, abs_tol=1e-5)
    used = {side: set(tokens.tolist()) for side, tokens in located.of_token.items()}
    with_errors = (located.amounts[:, :2] > 0).any(1).nonzero().flatten().tolist()
    assert set(with_errors) <= used["candidate"]
    assert not used["candidate"] & used["reference"]
