"""Chat models: requests in, answers out, in the same order; each asked once."""

from radreward.models.chat.base import ChatModel, Unasked
from radreward.models.chat.budget import Budget, Size, most_tokens, size
from radreward.models.chat.cache import AnswerCache, request_key
from radreward.models.chat.local import LocalChat
from radreward.models.chat.server import ServerChat

__all__ = [
    "AnswerCache",
    "Budget",
    "ChatModel",
    "LocalChat",
    "ServerChat",
    "Size",
    "Unasked",
    "most_tokens",
    "request_key",
    "size",
]
