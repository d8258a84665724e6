"""A limit on tokens that is never passed: what a request may cost is set aside before it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.types import ChatRequest

TEMPLATE_TOKENS_PER_MESSAGE = 16
"""What a chat template may add to a message, in tokens."""


def max_token_bound(request: ChatRequest) -> int:
    """The most tokens that a request and its answer can take, whatever the tokenizer: a token has a byte at least.

    >>> from radreward.types import Message
    >>> most_tokens(ChatRequest((Message("user", "No edema."),), max_tokens=100))
    141
    """
    prompt = sum(
        len(content.encode("utf-8", "surrogatepass")) + TEMPLATE_TOKENS_PER_MESSAGE for _, content in request.messages
    )
    return prompt + TEMPLATE_TOKENS_PER_MESSAGE + request.max_tokens


class RequestVolume(NamedTuple):
    """How much a job asks."""

    requests: int
    """That differ: equal ones are asked once."""
    characters: int
    """Of all messages."""
    max_prompt_tokens: int
    """Tokens of all messages at most."""
    max_completion_tokens: int
    """Tokens of all answers at most."""

    def __str__(self) -> str:
        return (
            f"{self.requests} requests: prompts of {self.characters} characters, at most {self.max_prompt_tokens} tokens (about "
            f"{self.characters // 4} of English text), and answers of at most {self.max_completion_tokens} tokens."
        )


def estimate_volume(requests: Sequence[ChatRequest]) -> RequestVolume:
    """How much requests ask, before anything is sent.

    >>> from radreward.types import Message
    >>> size([ChatRequest((Message("user", "No edema."),), max_tokens=100)] * 2)
    Size(requests=1, characters=9, prompts=41, answers=100)
    """
    different = set(requests)
    answers = sum(request.max_tokens for request in different)
    characters = sum(len(message.content) for request in different for message in request.messages)
    return RequestVolume(len(different), characters, sum(map(max_token_bound, different)) - answers, answers)


class Budget:
    """Tokens spent, and tokens set aside for what is under way.

    Args:
        limit: The most that may be spent; None is without a limit.

    Raises:
        ValueError: If the limit is negative.

    >>> budget = Budget(100)
    >>> budget.reserve(80), budget.reserve(80)
    (True, False)
    >>> budget.settle(reserved=80, spent=15)
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
        """Set tokens aside; False where they are not left."""
        if self.limit is not None and self.spent + self.reserved + tokens > self.limit:
            return False
        self.reserved += tokens
        return True

    def release(self, reserved: int, spent: int) -> None:
        """Give back what was set aside, and count what it came to."""
        self.reserved -= reserved
        self.spent += spent

    def exceeded_message(self, tokens: int) -> str:
        """The status of a request for which too little is left."""
        left = (self.limit or 0) - self.spent
        return f"not sent: the budget is used up ({left} tokens are left, up to {tokens} would be needed)"
