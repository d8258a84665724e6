"""Cache of the responses of chat models, and marks of pending requests, so that a resumed job repeats no request."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from radreward.errors import InputError
from radreward.io.cache import SQLiteCache
from radreward.llm.messages import ChatRequest, ChatResponse


def request_key(model_id: str, request: ChatRequest) -> str:
    """Return the SHA-256 of the model and all messages and settings of a request.

    >>> from radreward.llm.messages import Message
    >>> request_key("a model", ChatRequest((Message("user", "?"),)))[:12]
    '41d0ae9b9a63'
    """
    request = request._replace(temperature=float(request.temperature), top_p=float(request.top_p))
    return hashlib.sha256(json.dumps([model_id, request]).encode()).hexdigest()


_SENT = b""
"""Value of a request that was sent and has no response yet."""


class ResponseCache:
    """Responses by request key in a `SQLiteCache`. Requests and API keys are not stored.

    Call `mark_sent` before a request, and `put` or `forget` after it. If the process is killed in between, the mark
    stays: the response is lost, although it may have been paid for.

    Args:
        path: The file, created with its folder if absent.

    Raises:
        InputError: If the file is not a cache, or cannot be read or written. Every method can raise this error.

    >>> import tempfile
    >>> cache = ResponseCache(Path(tempfile.mkdtemp()) / "responses.sqlite")
    >>> cache.put("key", ChatResponse("Yes.", "stop", 9, 2, "ok"))
    >>> cache.get("key")
    ChatResponse(text='Yes.', finish_reason='stop', prompt_tokens=9, completion_tokens=2, status='ok')
    """

    def __init__(self, path: str | Path) -> None:
        self._cache = SQLiteCache(path, namespace="chat responses")

    def get(self, key: str) -> ChatResponse | None:
        """Return the response of a request, or None if it is not cached."""
        value = self._cache.get([key]).get(key)
        if value is None or value == _SENT:
            return None
        try:
            return ChatResponse(*json.loads(value))
        except (TypeError, ValueError) as error:
            raise InputError(f"{self._cache.path}: key {key}: Expected a response as JSON ({error}).") from error

    def put(self, key: str, response: ChatResponse) -> None:
        """Store a response."""
        self._cache.put({key: json.dumps(response).encode()})

    def mark_sent(self, key: str) -> None:
        """Record that a request is sent now."""
        self._cache.put({key: _SENT})

    def forget(self, key: str) -> None:
        """Remove the mark of a request that failed."""
        self._cache.delete(key)

    def unanswered(self) -> set[str]:
        """Return the keys of requests without a response, sent by a killed or a concurrent process."""
        return self._cache.empty_keys()

    def __len__(self) -> int:
        """Return the number of responses."""
        return len(self._cache) - len(self.unanswered())

    def close(self) -> None:
        """Close the file."""
        self._cache.close()
