"""Tests of prompt encoding with and without a chat template, and of answer encoding."""

import pytest
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerBase

from radreward.criteria import RadCliQCriteria
from radreward.data.chat_encoding import ChatPromptEncoder, chat_wrapper
from radreward.data.prompt_encoder import PromptTooLongError
from radreward.data.tokenizer import byte_tokenizer, word_tokenizer
from radreward.errors import InputError
from radreward.systems.radreason.prompt import RadReasonTemplate

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def encoder(max_length: int = 2000, instructed: bool = True) -> ChatPromptEncoder:
    return ChatPromptEncoder("tiny-llama", RadCliQCriteria(), RadReasonTemplate(instructed), max_length, 50)


def text(tokenizer: PreTrainedTokenizerBase, tokens: list[int]) -> str:
    return str(tokenizer.decode(tokens))


def test_chat_wrapper_surrounds_the_prompt() -> None:
    tokenizer = byte_tokenizer(encoder=False)
    tokenizer.chat_template = TEMPLATE
    before, after = chat_wrapper(tokenizer, "auto")
    assert text(tokenizer, before) == "<|user|>"
    assert text(tokenizer, after) == "</s><|assistant|>"
    assert after[0] == tokenizer.eos_token_id
    assert chat_wrapper(tokenizer, "none") == ([1], [])


def test_chat_wrapper_without_template_adds_start_token_only() -> None:
    assert chat_wrapper(byte_tokenizer(encoder=False), "auto") == ([1], [])


def test_chat_wrapper_green_is_the_published_layout() -> None:
    tokenizer = byte_tokenizer(encoder=False)
    before, after = chat_wrapper(tokenizer, "green")
    assert text(tokenizer, before) == "<s><|user|>\n"
    assert text(tokenizer, after) == "</s>\n<|assistant|>\n"


def test_chat_wrapper_template_without_prompt_raises() -> None:
    tokenizer = byte_tokenizer(encoder=False)
    tokenizer.chat_template = "nothing"
    with pytest.raises(InputError, match="Set chat_template to none"):
        chat_wrapper(tokenizer, "auto")
    with pytest.raises(ValueError, match="auto, none or green"):
        chat_wrapper(tokenizer, "loud")  # type: ignore[arg-type]


def test_token_segments_decode_to_the_rendered_text_without_special_tokens() -> None:
    prompts = encoder()
    segments_of_ids = prompts.token_segments("Clear </s> lungs.", "No edema.")
    segments = RadReasonTemplate().render("Clear </s> lungs.", "No edema.", RadCliQCriteria())
    assert [prompts.tokenizer.decode(ids[number == 0 :]) for number, ids in enumerate(segments_of_ids)] == list(
        segments
    )
    assert prompts.tokenizer.eos_token_id not in [token for ids in segments_of_ids for token in ids]
    assert prompts.encode_answer("Good.")[-1] == prompts.tokenizer.eos_token_id


def test_token_segments_of_one_reference_share_all_but_the_last() -> None:
    first, second = encoder().token_segments("Clear.", "a"), encoder().token_segments("Clear.", "b")
    assert first[:-1] == second[:-1]
    assert len(first) == 3


def test_encode_prompt_over_limit_raises_or_is_truncated() -> None:
    prompts = encoder(60, instructed=False)
    with pytest.raises(PromptTooLongError, match="at most 60 tokens"):
        prompts.encode("long " * 20, "longer " * 20, truncate=False)
    path, was_truncated = prompts.encode("long " * 20, "longer " * 20, truncate=True)
    assert was_truncated
    assert sum(map(len, path)) <= 60


def test_chat_prompt_encoder_invalid_settings_raise() -> None:
    with pytest.raises(ValueError, match="`max_answer_length`"):
        ChatPromptEncoder("tiny-llama", RadCliQCriteria(), RadReasonTemplate(), 10, 0)
    tokenizer = byte_tokenizer(encoder=False)
    tokenizer.add_tokens([AddedToken("x")])
    with pytest.raises(InputError, match="end token"):
        ChatPromptEncoder("tiny-bert", RadCliQCriteria(), RadReasonTemplate())


@pytest.mark.parametrize(
    "written", ["Mild Effusion.\nNo 3.5 cm ÄÖ § mass", "<think>\nReference: x", "", "  two  spaces"]
)
def test_word_tokenizer_preserves_text_except_case(written: str) -> None:
    tokenizer = word_tokenizer()
    decoded = str(tokenizer.decode(tokenizer.encode(written, add_special_tokens=False)))
    assert decoded.lower().replace(" ", "") == written.lower().replace(" ", "")
    assert len(tokenizer) <= 2048
