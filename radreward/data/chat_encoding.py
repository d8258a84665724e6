"""Prompts and answers as tokens, in the chat layout of the backbone if it has one."""

from __future__ import annotations

from typing import Literal, NamedTuple

from transformers import PreTrainedTokenizerBase

from radreward.criteria import Criteria
from radreward.data.embedded_tokenizer import EmbeddedTokenizer
from radreward.data.prompt_encoder import PromptEncoder
from radreward.errors import InputError
from radreward.prompts.generative_template import GenerativeTemplate

ChatTemplateName = Literal["auto", "none", "green"]
_PLACEHOLDER = "\ue000"  # a private-use character, which no template contains


class _ChatWrapper(NamedTuple):
    """Token ids around a prompt."""

    before: list[int]
    after: list[int]


class ChatPromptEncoder(PromptEncoder):
    """Encoder of chat prompts up to a maximum length, and of their answers.

    Args:
        tokenizer: Name of the backbone whose tokenizer to use.
        criteria: The criteria of the prompt.
        template: Layout of the prompt and of its answer.
        max_length: Maximum number of tokens of a prompt.
        max_answer_length: Maximum number of tokens of an answer.
        chat_template: "auto" applies the tokenizer's chat template if it has one; "none" never applies one; "green" is
            the layout of GREEN's published weights: <|user|>, prompt, eos, <|assistant|>.

    Attributes:
        template: As given.
        tokenizer: The tokenizer of the backbone.

    Raises:
        ValueError: If `max_length` or `max_answer_length` is not positive, or `chat_template` is unknown.
        InputError: If the tokenizer has no end token, which ends an answer.
    """

    template: GenerativeTemplate

    def __init__(
        self,
        tokenizer: str,
        criteria: Criteria,
        template: GenerativeTemplate,
        max_length: int = 1024,
        max_answer_length: int = 1024,
        chat_template: ChatTemplateName = "auto",
    ) -> None:
        super().__init__(tokenizer, criteria, template, max_length)
        if max_answer_length < 1:
            raise ValueError(f"Expected `max_answer_length` to be >= 1 but got {max_answer_length}.")
        self.max_answer_length = max_answer_length
        loaded = self.segment_tokenizer.tokenizer
        if isinstance(loaded, EmbeddedTokenizer) or loaded.eos_token_id is None:
            raise InputError(f"{tokenizer}: Expected a tokenizer with an end token, which ends an answer.")
        self.tokenizer = loaded
        self._end = int(loaded.eos_token_id)
        self.chat_template = chat_template
        self._wrapper = chat_wrapper(self.tokenizer, chat_template)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Texts at which generation stops; none if the template has none."""
        stop = self.template.stop_string(self.criteria)
        return (stop,) if stop else ()

    def token_segments(self, reference: str, candidate: str) -> list[list[int]]:
        """Return the token ids of each segment, from the most shared to the candidate; never truncated.

        Report text never becomes a special token; the chat layout may.
        """
        segments = self.render(reference, candidate)
        texts = [text for text in segments[:-1] if text] + [segments.candidate]
        tokens = [list(self.segment_tokenizer.encode(text)) for text in texts]
        tokens[0] = [*self._wrapper.before, *tokens[0]]
        tokens[-1] = [*tokens[-1], *self._wrapper.after]
        return tokens

    def encode_answer(self, text: str) -> list[int]:
        """Return the token ids of an answer and of its end."""
        return [*self.segment_tokenizer.encode(text), self._end]


def chat_wrapper(tokenizer: PreTrainedTokenizerBase, chat_template: ChatTemplateName) -> _ChatWrapper:
    """Return the tokens that a chat layout puts around a prompt.

    Raises:
        ValueError: If `chat_template` is unknown.
        InputError: If the tokenizer's template does not contain the prompt exactly once.
    """
    if chat_template not in ("auto", "none", "green"):
        raise ValueError(f"Expected `chat_template` to be auto, none or green but got {chat_template!r}.")
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return ids

    if chat_template == "green":
        end = tokenizer.eos_token or ""
        return _ChatWrapper([*start, *encode("<|user|>\n")], encode(f"{end}\n<|assistant|>\n"))
    if chat_template == "none" or not tokenizer.chat_template:
        return _ChatWrapper(start, [])
    messages = [{"role": "user", "content": _PLACEHOLDER}]
    text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    before, placeholder, after = text.partition(_PLACEHOLDER)
    if not placeholder or _PLACEHOLDER in after:
        raise InputError("Expected a chat template that contains the prompt once. Set chat_template to none.")
    return _ChatWrapper(encode(before), encode(after))
