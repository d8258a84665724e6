"""Token budget. The maximum cost of a request is reserved before sending, so the budget is never exceeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.llm.messages import ChatRequest

_TEMPLATE_TOKENS_PER_MESSAGE = 16
"""Upper bound of the tokens that a chat template adds per message."""


def max_token_bound(request: ChatRequest) -> int:
    """Return an upper bound of the tokens of a request and its response.

    It holds for every tokenizer, because a token has at least one byte.

    >>> from radreward.llm.messages import Message
    >>> max_token_bound(ChatRequest((Message("user", "No edema."),), max_tokens=100))
    141
    """
    prompt = sum(
        len(content.encode("utf-8", "surrogatepass")) + _TEMPLATE_TOKENS_PER_MESSAGE for _, content in request.messages
    )
    return prompt + _TEMPLATE_TOKENS_PER_MESSAGE + request.max_tokens


class RequestVolume(NamedTuple):
    """Size of a job."""

    requests: int
    """Number of distinct requests."""
    characters: int
    """Characters of all messages."""
    max_prompt_tokens: int
    """Upper bound of the tokens of all messages."""
    max_completion_tokens: int
    """Upper bound of the tokens of all responses."""

    def __str__(self) -> str:
        return (
            f"{self.requests} requests: {self.characters} characters of prompts, at most {self.max_prompt_tokens} "
            f"tokens (about {self.characters // 4} for English text), and at most {self.max_completion_tokens} tokens "
            "of responses."
        )


def estimate_volume(requests: Sequence[ChatRequest]) -> RequestVolume:
    """Return the size of a job before it is sent.

    >>> from radreward.llm.messages import Message
    >>> estimate_volume([ChatRequest((Message("user", "No edema."),), max_tokens=100)] * 2)
    RequestVolume(requests=1, characters=9, max_prompt_tokens=41, max_completion_tokens=100)
    """
    distinct = set(requests)
    completion_tokens = sum(request.max_tokens for request in distinct)
    characters = sum(len(message.content) for request in distinct for message in request.messages)
    prompt_tokens = sum(map(max_token_bound, distinct)) - completion_tokens
    return RequestVolume(len(distinct), characters, prompt_tokens, completion_tokens)


class Budget:
    """Tokens spent, and tokens reserved for requests in progress.

    Args:
        limit: Maximum number of tokens; None sets no limit.

    Raises:
        ValueError: If the limit is negative.

    >>> budget = Budget(100)
    >>> budget.reserve(80), budget.reserve(80)
    (True, False)
    >>> budget.release(reserved=80, spent=15)
    >>> budget.reserve(80), budget.spent
    (True, 15)
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise ValueError(f"Expected `limit` to be >= 0 but got {limit}.")
        self.limit = limit
        self.spent = 0
        self.reserved = 0

    def reserve(self, tokens: int) -> bool:
        """Reserve tokens. Return False if too few are left."""
        if self.limit is not None and self.spent + self.reserved + tokens > self.limit:
            return False
        self.reserved += tokens
        return True

    def release(self, reserved: int, spent: int) -> None:
        """Replace a reservation by the tokens that were spent."""
        self.reserved -= reserved
        self.spent += spent

    def exceeded_message(self, tokens: int) -> str:
        """Return the status of a request for which too few tokens are left."""
        left = (self.limit or 0) - self.spent
        return f"not sent: the budget is used up ({left} tokens are left, up to {tokens} are required)"
