"""Prompts and answers as tokens, in the chat layout of a backbone where it has one."""

from __future__ import annotations

from typing import Literal, NamedTuple

from transformers import PreTrainedTokenizerBase

from radreward.criteria import Criteria
from radreward.data.collators.reward import PromptEncoder
from radreward.errors import InputError
from radreward.prompts.template import PromptTemplate
from radreward.types import PromptSegments

ChatTemplateName = Literal["auto", "none", "green"]
_PLACEHOLDER = "\ue000"  # a private character: in no template


class ChatWrapper(NamedTuple):
    """Token ids around a question."""

    before: list[int]
    after: list[int]


class ChatPromptEncoder(PromptEncoder):
    """Prompts to be answered, of limited length; the same in training and in use.

    Args:
        tokenizer: Name of the backbone whose tokenizer to use.
        criteria: What is judged.
        template: How is asked.
        max_length: Most tokens of a prompt.
        max_answer: Most tokens of an answer.
        chat: "auto" asks as the tokenizer's chat template does, or without any layout where it has none; "none" never
            uses one; "green" is that of GREEN's published weights: <|user|>, question, eos, <|assistant|>.

    Raises:
        ValueError: If `max_length` or `max_answer` is not positive, or `chat` is unknown.
        InputError: If the tokenizer has no end token, by which an answer ends.
    """

    def __init__(
        self,
        tokenizer: str,
        criteria: Criteria,
        template: PromptTemplate,
        max_length: int = 1024,
        max_answer_length: int = 1024,
        chat_template: ChatTemplateName = "auto",
    ) -> None:
        super().__init__(tokenizer, criteria, template, max_length)
        if max_answer_length < 1:
            raise ValueError(f"Expected `max_answer` to be >= 1 but got {max_answer_length}.")
        self.max_answer_length = max_answer_length
        self.tokenizer = self.segment_tokenizer.tokenizer
        self.chat_template = chat_template
        self._wrapper = chat_wrapper(self.tokenizer, chat_template)
        if self.tokenizer.eos_token_id is None:
            raise InputError(f"{tokenizer}: Expected a tokenizer with an end token, by which an answer ends.")

    def token_segments(self, reference: str, candidate: str) -> list[list[int]]:
        """The pieces of a prompt as token ids, from the most shared to the candidate; not cut."""
        return self.encode_segments(self.template.render(reference, candidate, self.criteria))

    def encode_segments(self, segments: PromptSegments) -> list[list[int]]:
        """Token ids of each piece that is not empty. Report text never becomes a special token, layout may."""
        texts = [text for text in segments[:-1] if text] + [segments.candidate]
        pieces = [list(self.segment_tokenizer.encode(text)) for text in texts]
        pieces[0] = [*self._wrapper.before, *pieces[0]]
        pieces[-1] = [*pieces[-1], *self._wrapper.after]
        return pieces

    def encode_answer(self, text: str) -> list[int]:
        """Token ids of an answer, with the token that ends it."""
        return [*self.segment_tokenizer.encode(text), self.tokenizer.eos_token_id]


def chat_wrapper(tokenizer: PreTrainedTokenizerBase, chat_template: ChatTemplateName) -> ChatWrapper:
    """What a chat layout puts around a question.

    Raises:
        ValueError: If `chat` is unknown.
        InputError: If the tokenizer's template does not show the question, once.
    """
    if chat_template not in ("auto", "none", "green"):
        raise ValueError(f"Expected `chat` to be auto, none or green but got {chat_template!r}.")
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return found

    if chat_template == "green":
        end = tokenizer.eos_token or ""
        return ChatWrapper([*start, *ids("<|user|>\n")], ids(f"{end}\n<|assistant|>\n"))
    if chat_template == "none" or not tokenizer.chat_template:
        return ChatWrapper(start, [])
    shown = tokenizer.apply_chat_template(
        [{"role": "user", "content": _PLACEHOLDER}], tokenize=False, add_generation_prompt=True
    )
    before, mark, after = str(shown).partition(_PLACEHOLDER)
    if not mark or _PLACEHOLDER in after:
        raise InputError("Expected a chat template that shows the question once. Set chat to none.")
    return ChatWrapper(ids(before), ids(after))
