"""Statements of a candidate as nodes of their own: the tokens of the text, in any order of the statements."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria
from radreward.data.prompt_encoder import PromptEncoder
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.prompts import PlainPairTemplate, StatementPairTemplate
from radreward.text.standard_wording import standard_wording

STATEMENTS = (
    "Small left effusion.",
    "It is unchanged.",
    "A 1.2 cm nodule in the RLL.",
    "Edema.",
    "no pneumothorax.",
    "Fracture of a rib, and an opacity.",
)
texts = st.lists(st.sampled_from(STATEMENTS), max_size=6).map(" ".join) | st.text(max_size=60)
PLAIN, APART = (
    PromptEncoder("embedded", RadCliQCriteria(), template, 512)
    for template in (PlainPairTemplate(), StatementPairTemplate())
)


@pytest.mark.parametrize("name", ["embedded", "tiny-bert"])
@given(text=texts)
def test_statements_are_the_tokens_of_the_text_and_the_end_token(name: str, text: str) -> None:
    tokenizer = SegmentTokenizer(load_tokenizer(name), standardize=True)
    *statements, end = tokenizer.encode_statements(text)
    assert [token for statement in statements for token in statement.tokens] == list(tokenizer.encode(text))
    assert "".join(statement.text for statement in statements) == standard_wording(text).text
    assert end == ("", (tokenizer.tokenizer.sep_token_id,))
    assert all(statement.tokens for statement in statements)


@given(reference=texts, candidate=texts)
def test_only_the_candidate_is_split(reference: str, candidate: str) -> None:
    plain, apart = (encoder.token_path(reference, candidate) for encoder in (PLAIN, APART))
    assert apart.shared == plain.shared
    assert [token for statement in apart.own for token in statement] == list(*plain.own)


@given(st.permutations(STATEMENTS[2:]))
def test_order_of_independent_statements_does_not_change_the_tokens(statements: list[str]) -> None:
    first, second = (APART.token_path("Edema.", " ".join(order)) for order in (STATEMENTS[2:], statements))
    assert first == second


def test_statement_that_refers_back_stays_with_the_one_before() -> None:
    words = "Small left effusion. It is unchanged. Opacity."
    assert len(APART.token_path("Edema.", words).own) == 3  # two statements and the end


def test_statement_without_counterpart_in_the_reference_is_unrelated() -> None:
    assert APART.token_path("Edema.", "Pulmonary edema. Rib fracture.").unrelated == (False, True, False)
    assert not APART.token_path("Edema.", "Pulmonary edema.").unrelated
    assert not PLAIN.token_path("Edema.", "Rib fracture.").unrelated


@pytest.mark.parametrize("seed", range(5))
def test_truncation_keeps_the_limit(seed: int) -> None:
    rng = Random(seed)
    reference, candidate = (" ".join(rng.choices(STATEMENTS, k=20)) for _ in range(2))
    limit = rng.randrange(10, 60)
    path, truncated = PromptEncoder("embedded", RadCliQCriteria(), StatementPairTemplate(), limit).encode(
        reference, candidate, truncate=True
    )
    assert path.num_tokens <= limit
    assert truncated == (APART.token_path(reference, candidate).num_tokens > limit)
