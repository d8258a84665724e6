"""Statements of tokens, and the errors of statements."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria
from radreward.data.located_error_targets import (
    UNKNOWN,
    StatementErrors,
    located_error_targets,
    statement_errors,
    unknown_statement_errors,
)
from radreward.data.tokenizer import SegmentTokenizer, byte_tokenizer
from radreward.errors import InputError
from radreward.types import LocatedError, PromptSegments, Side

CRITERIA = Criteria("two", [{"name": name, "description": "Any."} for name in ("one", "two")])
TOKENIZER = SegmentTokenizer(byte_tokenizer(encoder=True))  # [CLS] text [SEP]: a token per character
SEGMENTS = PromptSegments("", "No mass. Left effusion.", "Mild edema. Nodule. Left effusion. Scar.")


def _num_tokens(segments: PromptSegments) -> dict[Side, int]:
    reference, candidate = TOKENIZER.encode_segments(segments)
    return {Side.CANDIDATE: len(candidate), Side.REFERENCE: len(reference)}


def _statement_errors(*located: LocatedError, segments: PromptSegments = SEGMENTS) -> StatementErrors:
    return statement_errors(located, segments, _num_tokens(segments), CRITERIA, TOKENIZER, "candidate 1")


def test_every_statement_has_its_errors() -> None:
    errors = _statement_errors(
        LocatedError(Side.CANDIDATE, ("Nodule.",), {"one": 1.0}, 0.5),
        LocatedError(Side.REFERENCE, ("Left",), {"two": 2.0}),
    )
    text = SEGMENTS.candidate
    assert errors.of_token[Side.CANDIDATE].tolist() == [
        text[: index + 1].count(". ") if text[index] != " " else errors.of_token[Side.CANDIDATE][index].item()
        for index in range(len(text))
    ] + [4]
    assert len(errors.amounts) == 5 + 3  # statements, and what is outside of them
    assert errors.amounts[:, :2].tolist() == [[0, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 2], [0, 0]]
    assert errors.amounts[:, 2].isnan().all()
    assert errors.amounts[:2, 3].tolist() == [0.0, 0.5]
    assert errors.amounts[6, 3].isnan()  # the weight of what is wrong is unknown
    reference = errors.of_token[Side.REFERENCE]
    assert reference[0] == reference[-1] == 7  # [CLS] and [SEP]
    assert set(reference.tolist()) == {5, 6, 7}


def test_statements_that_share_errors_are_joined() -> None:
    errors = _statement_errors(
        LocatedError(Side.CANDIDATE, ("Mild edema.", "Scar."), {"one": 1.0}),
        LocatedError(Side.CANDIDATE, ("Nodule.", "Scar."), {"one": 1.0, "two": 1.0}),
    )
    assert torch.unique(errors.of_token[Side.CANDIDATE]).tolist() == [0, 2, 4]
    assert errors.amounts[:5, :2].tolist() == [[2, 1], [0, 0], [0, 0], [0, 0], [0, 0]]


def test_whole_statements_are_found_before_parts_of_statements() -> None:
    segments = PromptSegments("", "Clear.", "no effusion. effusion. scar. effusion.")
    errors = _statement_errors(LocatedError(Side.CANDIDATE, ("effusion.",), {"one": 1.0}), segments=segments)
    assert torch.unique(errors.of_token[Side.CANDIDATE]).tolist() == [0, 1, 2, 4]
    assert errors.amounts[:5, 0].tolist() == [0, 1, 0, 0, 0]


def test_a_quote_may_span_statements_or_lie_beyond_the_truncated_tokens() -> None:
    located = LocatedError(Side.CANDIDATE, ("edema. Nodule",), {"one": 1.0})
    assert torch.unique(_statement_errors(located).of_token[Side.CANDIDATE]).tolist() == [0, 2, 3, 4]
    short = statement_errors(
        [LocatedError(Side.CANDIDATE, ("Scar.",), {"one": 1.0})],
        SEGMENTS,
        {Side.CANDIDATE: 12, Side.REFERENCE: 3},
        CRITERIA,
        TOKENIZER,
        "candidate 1",
    )
    assert short.of_token[Side.CANDIDATE].tolist() == [0] * 11 + [4]  # "Mild edema.", and the space after it


@pytest.mark.parametrize(
    ("located", "message"),
    [
        (
            LocatedError(Side.CANDIDATE, ("No mass.",), {"one": 1.0}),
            "candidate 1, field 'located_errors': Expected a part of the candidate's text but got 'No mass.'",
        ),
        (
            LocatedError(Side.REFERENCE, ("No mass.",), {"three": 1.0}),
            "candidate 1, field 'located_errors': Expected errors by the tags of two but got three",
        ),
    ],
)
def test_bad_located_errors(located: LocatedError, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _statement_errors(located)


def test_targets_of_a_batch_number_candidates_one_after_the_other() -> None:
    other = PromptSegments("", "No mass.", "Scar.")
    known = _statement_errors(LocatedError(Side.CANDIDATE, ("Scar.",), {"one": 1.0}), segments=other)
    joined = located_error_targets([known, unknown_statement_errors({Side.CANDIDATE: 9, Side.REFERENCE: 2}, 2), known])
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
    entry = st.builds(
        LocatedError,
        st.just(Side.CANDIDATE),
        st.lists(st.sampled_from(["Clear.", *sentences]), min_size=1, max_size=3).map(tuple),
        st.fixed_dictionaries({"one": st.integers(0, 3).map(float), "two": st.integers(0, 3).map(float)}),
        st.floats(0, 4),
    )
    entries = data.draw(st.lists(entry, max_size=4))
    errors = _statement_errors(*entries, segments=segments)
    for column, expected in (
        (0, sum(entry.errors["one"] for entry in entries)),
        (1, sum(entry.errors["two"] for entry in entries)),
        (3, sum(entry.wrong or 0.0 for entry in entries)),
    ):
        assert math.isclose(float(errors.amounts[:, column].sum()), expected, abs_tol=1e-5)
    used = {side: set(tokens.tolist()) for side, tokens in errors.of_token.items()}
    with_errors = (errors.amounts[:, :2] > 0).any(1).nonzero().flatten().tolist()
    assert set(with_errors) <= used[Side.CANDIDATE]
    assert not used[Side.CANDIDATE] & used[Side.REFERENCE]
