"""The tokenizer of the embedded backbone against that of transformers."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from radreward.data.embedded_tokenizer import EmbeddedTokenizer
from radreward.data.tokenizer import load_tokenizer, resolve_backbone

TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(["no", "effusion,", "[SEP]", "pneumothorax.", "[CLS]", "1.5 cm", "é"])).map(" ".join),
)


@pytest.fixture(scope="module")
def theirs() -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(resolve_backbone("embedded"))
    return tokenizer


@pytest.fixture(scope="module")
def ours() -> EmbeddedTokenizer:
    tokenizer = load_tokenizer("embedded")
    assert isinstance(tokenizer, EmbeddedTokenizer)
    return tokenizer


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3), special=st.booleans(), split=st.booleans(), offsets=st.booleans(),
    limit=st.one_of(st.none(), st.integers(2, 12)), single=st.booleans(),
)  # fmt: skip
def test_tokens_and_offsets_equal_those_of_transformers(
    ours: EmbeddedTokenizer, theirs: PreTrainedTokenizerBase, texts: list[str], special: bool, split: bool,
    offsets: bool, limit: int | None, single: bool,
) -> None:  # fmt: skip
    text = texts[0] if single else texts
    options = {"add_special_tokens": special, "split_special_tokens": split, "return_offsets_mapping": offsets}
    limits: dict[str, Any] = {} if limit is None else {"truncation": True, "max_length": limit}
    actual = ours(text, **options, **limits)
    expected = theirs(text, **options, **limits)
    assert actual == {name: expected[name] for name in actual}
    assert ("offset_mapping" in actual) == offsets
    for row in [actual["input_ids"]] if single else actual["input_ids"]:
        mask = theirs.get_special_tokens_mask(row, already_has_special_tokens=True)
        assert ours.get_special_tokens_mask(row, already_has_special_tokens=True) == mask


@pytest.mark.parametrize(
    "name",
    ["cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id", "is_fast", "model_max_length"],
)
def test_attributes_equal_those_of_transformers(
    ours: EmbeddedTokenizer, theirs: PreTrainedTokenizerBase, name: str
) -> None:
    assert getattr(ours, name) == getattr(theirs, name)


def test_pickled_tokenizer_gives_the_same_tokens(ours: EmbeddedTokenizer) -> None:
    assert pickle.loads(pickle.dumps(ours)).encode("No effusion.") == ours.encode("No effusion.")  # noqa: S301
