"""What every chat model does: each different request is asked once, answers are kept, the order stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise

from rich.console import Console
from rich.progress import Progress

from radreward.io.tables import is_valid_utf8
from radreward.llm.budget import Budget
from radreward.llm.response_cache import ResponseCache, request_key
from radreward.types import ChatRequest, ChatResponse

ROLES = ("system", "user", "assistant")
STATUS_OK = "ok"


def failed_response(status: str) -> ChatResponse:
    """An answer that is none, and why."""
    return ChatResponse("", "", None, None, status)


class ChatModel(ABC):
    """Answers requests; two abstract members, `identity` and `answer`.

    Args:
        cache: Where answers are kept and looked up; a job that was interrupted repeats none of them.
        budget: The most tokens, of requests and answers together, that this object may use; None is without a limit.
        progress: Show a bar on the standard error.

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
        """Who answers: it is hashed into the keys of the cache, so that another model's answers are not taken."""

    @abstractmethod
    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """Ask requests that all differ, and call `done(index, answer)` for every one of them as soon as it is there.

        Called by `complete` with what is not in the cache. An answer that cannot be had is one with a status.
        """

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        """Answers in the order and length of the requests.

        Equal requests are asked once. An answer that cannot be had is empty, and its `status` says why.

        Raises:
            ValueError: If a request has settings or roles that do not exist; nothing is sent then.
            InputError: If the cache cannot be read or written.
        """
        for index, request in enumerate(requests):
            _validate_request(index, request)
        identity = self.model_id
        keys = [request_key(identity, request) for request in requests]
        found: dict[str, ChatResponse] = {}
        missing: dict[str, ChatRequest] = {}
        for key, request in zip(keys, requests, strict=True):
            if key not in found and key not in missing:
                known = self._lookup(request, key)
                if known is None:
                    missing[key] = request
                else:
                    found[key] = known
        names = list(missing)
        with Progress(console=Console(stderr=True), disable=not self.progress) as bar:
            task = bar.add_task("answers", total=len(found) + len(names), completed=len(found))

            def done(index: int, answer: ChatResponse) -> None:
                found[names[index]] = answer
                if self.cache is not None and answer.status == STATUS_OK:
                    self.cache.put(names[index], answer)
                bar.advance(task)

            if names:
                self._generate(list(missing.values()), done)
        return [found[key] for key in keys]

    def _lookup(self, request: ChatRequest, key: str) -> ChatResponse | None:
        for number, message in enumerate(request.messages, 1):
            if not is_valid_utf8(message.content):
                return failed_response(f"not sent: expected message {number} to be Unicode text")
        return self.cache.get(key) if self.cache is not None else None


class DryRunChatModel(ChatModel):
    """Answers nothing: requests can be made, and counted, before there is a model."""

    model_id = "nobody"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel.answer`."""
        for index in range(len(requests)):
            on_response(index, failed_response("not sent: nobody is to be asked"))


def _validate_request(index: int, request: ChatRequest) -> None:
    where = f"request {index}"
    roles = [message.role for message in request.messages]
    if not roles or roles[-1] != "user" or not set(roles) <= set(ROLES) or "system" in roles[1:]:
        raise ValueError(
            f"{where}: Expected turns of {', '.join(ROLES)}, the system's first, the user's last, but got {roles}."
        )
    if any(one == other for one, other in pairwise(roles)):
        raise ValueError(f"{where}: Expected turns to alternate but got {roles}.")
    if not 0 <= request.temperature < float("inf"):
        raise ValueError(f"{where}: Expected `temperature` to be >= 0 but got {request.temperature}.")
    if not 0 < request.top_p <= 1:
        raise ValueError(f"{where}: Expected `top_p` to be in (0, 1] but got {request.top_p}.")
    if request.max_tokens < 1:
        raise ValueError(f"{where}: Expected `max_tokens` to be >= 1 but got {request.max_tokens}.")
    if not 0 <= request.seed < 2**31:
        raise ValueError(f"{where}: Expected `seed` to be in [0, 2^31) but got {request.seed}.")
