"""Base class of chat models: deduplication, cache, budget, and order of responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise

from radreward.io.progress import ProgressReporter
from radreward.io.tables import is_valid_utf8
from radreward.llm.budget import Budget
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.llm.response_cache import ResponseCache, request_key

_ROLES = ("system", "user", "assistant")
STATUS_OK = "ok"


def failed_response(status: str) -> ChatResponse:
    """Return an empty response with the reason of the failure."""
    return ChatResponse("", "", None, None, status)


class ChatModel(ABC):
    """Model that responds to messages. Subclasses define `model_id` and `_generate`.

    Args:
        cache: Cache of responses, which lets an interrupted job resume.
        budget: Maximum number of tokens, of requests and responses together; None sets no limit.
        progress: Show progress on standard error.

    Raises:
        ValueError: If the budget is negative.
    """

    def __init__(self, cache: ResponseCache | None = None, budget: int | None = None, progress: bool = False) -> None:
        self.cache = cache
        self.budget = Budget(budget)
        self.progress = progress

    @property
    @abstractmethod
    def model_id(self) -> str:
        """Identity of the model in the keys of the cache, so that responses of another model are not reused."""

    @abstractmethod
    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """Send distinct requests, and call `on_response(index, response)` once per request, as soon as possible.

        Called by `complete` with the requests that are not cached. A failure is a response with a status.
        """

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        """Return one response per request, in order.

        Equal requests are sent once. A failed response is empty and has the reason in its `status`.

        Raises:
            ValueError: If a request has an invalid setting or role. Nothing is sent then.
            InputError: If the cache cannot be read or written.
        """
        for index, request in enumerate(requests):
            _validate_request(index, request)
        model_id = self.model_id
        keys = [request_key(model_id, request) for request in requests]
        responses: dict[str, ChatResponse] = {}
        missing: dict[str, ChatRequest] = {}
        for key, request in dict(zip(keys, requests, strict=True)).items():
            response = self._lookup(request, key)
            if response is None:
                missing[key] = request
            else:
                responses[key] = response
        missing_keys = list(missing)
        with ProgressReporter(self.progress) as progress:
            task = progress.add_task("Responses", len(responses) + len(missing), len(responses), unit="requests")

            def on_response(index: int, response: ChatResponse) -> None:
                responses[missing_keys[index]] = response
                if self.cache is not None and response.status == STATUS_OK:
                    self.cache.put(missing_keys[index], response)
                progress.advance(task)

            if missing:
                self._generate(list(missing.values()), on_response)
        return [responses[key] for key in keys]

    def _lookup(self, request: ChatRequest, key: str) -> ChatResponse | None:
        for number, message in enumerate(request.messages, 1):
            if not is_valid_utf8(message.content):
                return failed_response(f"not sent: Expected message {number} to be Unicode text")
        return self.cache.get(key) if self.cache is not None else None


class DryRunChatModel(ChatModel):
    """Model without responses, to count requests before a model is chosen."""

    model_id = "dry run"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel._generate`."""
        for index in range(len(requests)):
            on_response(index, failed_response("not sent: dry run"))


def _validate_request(index: int, request: ChatRequest) -> None:
    where = f"request {index}"
    roles = [message.role for message in request.messages]
    if not roles or roles[-1] != "user" or not set(roles) <= set(_ROLES) or "system" in roles[1:]:
        raise ValueError(
            f"{where}: Expected turns of {', '.join(_ROLES)}, starting with the system's, if any, and ending with the "
            f"user's, but got {roles}."
        )
    if any(first == second for first, second in pairwise(roles)):
        raise ValueError(f"{where}: Expected turns to alternate but got {roles}.")
    if not 0 <= request.temperature < float("inf"):
        raise ValueError(f"{where}: Expected `temperature` to be >= 0 but got {request.temperature}.")
    if not 0 < request.top_p <= 1:
        raise ValueError(f"{where}: Expected `top_p` to be in (0, 1] but got {request.top_p}.")
    if request.max_tokens < 1:
        raise ValueError(f"{where}: Expected `max_tokens` to be >= 1 but got {request.max_tokens}.")
    if not 0 <= request.seed < 2**31:
        raise ValueError(f"{where}: Expected `seed` to be in [0, 2^31) but got {request.seed}.")
