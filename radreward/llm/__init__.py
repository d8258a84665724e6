"""Chat models: requests in, answers out, in the same order; each asked once."""

from radreward.llm.budget import Budget, Size, most_tokens, size
from radreward.llm.chat_model import ChatModel, Unasked
from radreward.llm.local_model import LocalChat
from radreward.llm.openai_server import ServerChat
from radreward.llm.response_cache import AnswerCache, request_key

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
