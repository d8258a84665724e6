"""Requests to chat models and their responses."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """One turn of a chat."""

    role: str
    """"system", "user" or "assistant"."""
    content: str
    """Plain text."""


class ChatRequest(NamedTuple):
    """Messages and sampling parameters."""

    messages: tuple[Message, ...]
    """Turns so far. The last turn is the user's."""
    temperature: float = 0.0
    """Sampling temperature; 0 is greedy."""
    top_p: float = 1.0
    """Nucleus sampling: sample from the most likely tokens whose probabilities add up to this value."""
    max_tokens: int = 1024
    """Maximum length of the response."""
    seed: int = 0
    """Sampling seed, which differs between repetitions of a request."""


class ChatResponse(NamedTuple):
    """Response of a chat model, or the reason why it is missing."""

    text: str
    """Empty if there is no response."""
    finish_reason: str
    """"stop" if the model ended the text, "length" if `max_tokens` did, or another value of the server."""
    prompt_tokens: int | None
    """Tokens of the request; None if unknown."""
    completion_tokens: int | None
    """Tokens of the response; None if unknown."""
    status: str
    """"ok", or the reason why there is no response."""
