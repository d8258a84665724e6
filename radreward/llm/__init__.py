"""Chat models: local or behind a server, with a token budget and a cache of responses."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.llm.budget import Budget, RequestVolume, estimate_volume
    from radreward.llm.chat_model import ChatModel, DryRunChatModel
    from radreward.llm.local_model import LocalChatModel
    from radreward.llm.messages import ChatRequest, ChatResponse, Message
    from radreward.llm.openai_server import OpenAIChatModel
    from radreward.llm.response_cache import ResponseCache

__all__ = [
    "Budget",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "DryRunChatModel",
    "LocalChatModel",
    "Message",
    "OpenAIChatModel",
    "RequestVolume",
    "ResponseCache",
    "estimate_volume",
]

__getattr__ = lazy_exports(__name__)
