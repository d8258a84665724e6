"""Chat models: requests in, answers out, in the same order; each asked once."""

from radreward.llm.budget import Budget, RequestVolume, estimate_volume, max_token_bound
from radreward.llm.chat_model import ChatModel, DryRunChatModel
from radreward.llm.local_model import LocalChatModel
from radreward.llm.openai_server import OpenAIChatModel
from radreward.llm.response_cache import ResponseCache, request_key

__all__ = [
    "ResponseCache",
    "Budget",
    "ChatModel",
    "LocalChatModel",
    "OpenAIChatModel",
    "RequestVolume",
    "DryRunChatModel",
    "max_token_bound",
    "request_key",
    "estimate_volume",
]
