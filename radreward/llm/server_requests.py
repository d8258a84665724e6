"""Sending the requests of one job to an OpenAI-compatible server within a token budget.

The `openai` client retries. This module reserves tokens before each attempt, and stops the job after an error that
every request would have.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from radreward.io.terminal import printable
from radreward.llm.budget import Budget, max_token_bound
from radreward.llm.chat_model import STATUS_OK, failed_response
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.llm.response_cache import request_key

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from openai import APIConnectionError, APIStatusError, AsyncOpenAI

URL, MODEL, KEY = "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"
_RETRYABLE_STATUS = frozenset({408, 409, 429})
"""Statuses that the client retries, besides those from 500 on."""
_FATAL_STATUS = {
    401: f"the server does not accept {KEY}",
    403: f"the server does not allow this with {KEY}",
    404: f"the server has no such address or model ({URL}, {MODEL})",
}
"""Statuses that every request would get: after one of them, nothing more is sent."""
IDEMPOTENCY_HEADER, REPLAYED_HEADER = "Idempotency-Key", "Idempotent-Replayed"
"""Request header by which a server recognizes a repeated request; response header that marks a repeated answer."""
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
"""Request field that limits the length of a response."""
MAX_TOKENS_FIELDS = get_args(MaxTokensField)
_UNSUPPORTED = re.compile(
    r"\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra|not (?:supported|permitted))\b", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServerSettings:
    """Server and limits of a job. The address, the model and the key are never printed, logged or stored."""

    url: str
    model: str
    key: str
    max_tokens_field: MaxTokensField
    concurrency: int
    max_retries: int
    timeout: float

    def redact(self, text: str) -> str:
        """Return a text without address and key."""
        return text.replace(self.key, "***").replace(self.url, "***")


def is_loopback(url: str) -> bool:
    """Return True if an address is on this machine.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://127.0.0.1.example.org/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(slots=True)
class _Usage:
    """Reservation and attempts of the request that a worker is sending."""

    bound: int
    """Maximum number of tokens of one attempt."""
    reserved: bool = False
    response: ChatResponse | None = None
    """Response of the successful attempt."""
    replayed: bool = False
    """True if the server repeated an earlier answer."""
    attempts: int = 0


_USAGE: ContextVar[_Usage] = ContextVar("usage")
"""Usage of the current worker; the HTTP client calls the hooks below in the worker's task, once per attempt."""


class RequestRunner:
    """The concurrent workers of one job.

    Args:
        settings: The server.
        budget: Tokens that may be spent.
        requests: Distinct requests.
        on_send: Called with the index of a request before it is sent for the first time.
        on_response: Called once per request with its index and response.

    Attributes:
        replayed: Indices of requests that the server had answered before, according to its `Idempotent-Replayed`.
    """

    def __init__(
        self,
        settings: ServerSettings,
        budget: Budget,
        requests: Sequence[ChatRequest],
        on_send: Callable[[int], None],
        on_response: Callable[[int, ChatResponse], None],
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.requests = requests
        self.on_send = on_send
        self.on_response = on_response
        self.replayed: set[int] = set()
        self._queue = deque(range(len(requests)))
        self._stop_reason: str | None = None
        self._failures_in_a_row = 0
        self._budget_released = asyncio.Condition()

    async def run(self) -> None:
        """Send all requests."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        http_client = DefaultAsyncHttpxClient(
            follow_redirects=False,  # a redirect or a proxy could lead reports to another machine
            trust_env=not is_loopback(self.settings.url),
            event_hooks={"request": [self._before_attempt], "response": [self._after_attempt]},
        )
        async with AsyncOpenAI(
            base_url=self.settings.url,
            api_key=self.settings.key,
            timeout=self.settings.timeout,
            max_retries=self.settings.max_retries,
            http_client=http_client,
        ) as client:
            workers = min(self.settings.concurrency, len(self.requests))
            await asyncio.gather(*(self._work(client) for _ in range(workers)))

    async def _work(self, client: AsyncOpenAI) -> None:
        while self._queue:
            index = self._queue.popleft()
            self.on_response(index, await self._complete(client, index))

    async def _complete(self, client: AsyncOpenAI, index: int) -> ChatResponse:
        import openai

        request = self.requests[index]
        usage = _Usage(max_token_bound(request))
        _USAGE.set(usage)
        if not self._stop_reason:
            self.on_send(index)
        settings = self.settings
        # The key is the same in a later run, so that the server recognizes a repeated request.
        idempotency_key = request_key(f"{settings.url} {settings.model} {settings.max_tokens_field}", request)
        messages: Any = [{"role": role, "content": content} for role, content in request.messages]
        limit: Any = {settings.max_tokens_field: request.max_tokens}
        try:
            await client.chat.completions.with_raw_response.create(
                model=settings.model,
                messages=messages,
                temperature=request.temperature,
                top_p=request.top_p,
                seed=request.seed,
                extra_headers={IDEMPOTENCY_HEADER: idempotency_key},
                **limit,
            )
        except openai.APIStatusError as error:
            if error.status_code in _RETRYABLE_STATUS or error.status_code >= 500:
                return self._failure(usage, f"the server returned {error.status_code}")
            return self._refusal(error)
        except openai.APITimeoutError:
            return self._failure(usage, f"it took longer than {settings.timeout:g} s")
        except openai.APIConnectionError as error:
            return self._failure(usage, _connection_failure(error))
        except openai.OpenAIError as error:  # from `_before_attempt`
            return failed_response(str(error))
        finally:
            await self._release(usage, usage.bound)
        if usage.response is None:
            raise RuntimeError("Expected `_after_attempt` to have parsed the reply.")
        self._failures_in_a_row = 0
        if usage.replayed:
            self.replayed.add(index)
        return usage.response

    async def _before_attempt(self, _: Request) -> None:
        """Reserve the tokens of an attempt. Wait if other requests have reserved too many.

        Raises:
            OpenAIError: If the attempt must not be made. The client does not retry after this error.
        """
        from openai import OpenAIError

        usage = _USAGE.get()
        await self._release(usage, usage.bound)  # the previous attempt failed, and its cost is unknown
        async with self._budget_released:
            while not self._stop_reason and not self.budget.reserve(usage.bound):
                if not self.budget.reserved:
                    raise OpenAIError(self.budget.exceeded_message(usage.bound))
                await self._budget_released.wait()
        if self._stop_reason:
            raise OpenAIError(f"not sent: {self._stop_reason}")
        usage.reserved = True
        usage.attempts += 1

    async def _after_attempt(self, response: Response) -> None:
        """Count the tokens of an attempt.

        Raises:
            DecodingError: If the reply is not a chat completion. The client retries.
        """
        from httpx2 import DecodingError

        await response.aread()
        usage = _USAGE.get()
        spent = 0
        if response.is_success:
            try:
                parsed = parse_response(response.content)
            except ValueError as error:
                raise DecodingError(str(error), request=response.request) from error
            counts = parsed.prompt_tokens, parsed.completion_tokens
            spent = usage.bound if None in counts else sum(count or 0 for count in counts)
            if response.headers.get(REPLAYED_HEADER, "").lower() == "true":
                usage.replayed = True
                spent = 0
            usage.response = parsed
        await self._release(usage, spent)

    async def _release(self, usage: _Usage, spent: int) -> None:
        if usage.reserved:
            usage.reserved = False
            self.budget.release(usage.bound, spent)
            async with self._budget_released:
                self._budget_released.notify_all()

    def _failure(self, usage: _Usage, reason: str) -> ChatResponse:
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= self.settings.concurrency and not self._stop_reason:
            self._stop_reason = f"{self._failures_in_a_row} requests in a row had no answer, the last because {reason}"
        return failed_response(f"no answer after {usage.attempts} attempts: {reason}")

    def _refusal(self, error: APIStatusError) -> ChatResponse:
        code = error.status_code
        field = self.settings.max_tokens_field
        message = str(error.body.get("message") if isinstance(error.body, dict) else error.body)
        if code in _FATAL_STATUS:
            reason = self._stop_reason = _FATAL_STATUS[code]
        elif code in (400, 422) and re.search(rf"\b{field}\b", message) and _UNSUPPORTED.search(message):
            other = next(name for name in MAX_TOKENS_FIELDS if name != field)
            reason = self._stop_reason = f"the server does not accept {field}; set max_tokens_field to {other}"
        else:
            reason = self.settings.redact(" ".join(printable(message).split())[:200])
        return failed_response(f"refused ({code}): {reason}")


def _connection_failure(error: APIConnectionError) -> str:
    from httpx2 import DecodingError

    cause = error.__cause__
    if isinstance(cause, DecodingError):
        return f"the reply is not a chat completion ({cause})"
    return f"the connection failed ({type(cause).__name__})"


def parse_response(reply: bytes) -> ChatResponse:
    """Parse the body of a reply.

    Raises:
        ValueError: If it is not JSON, or not a chat completion with a text.

    >>> parse_response(b'{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}')
    ChatResponse(text='Yes.', finish_reason='stop', prompt_tokens=None, completion_tokens=None, status='ok')
    """
    try:
        value = json.loads(reply)
        choice = value["choices"][0]
        text = choice["message"]["content"]
        finish_reason = choice.get("finish_reason")
        usage = value.get("usage")
    except RecursionError as error:
        raise ValueError("JSON nested too deep") from error
    except UnicodeDecodeError as error:
        raise ValueError("Expected UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"Expected JSON: {error}") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("Expected a chat completion") from error
    if text is not None and not isinstance(text, str):
        raise ValueError("Expected a text as content")
    usage = usage if isinstance(usage, dict) else {}
    prompt_tokens, completion_tokens = (_token_count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion"))
    finish_reason = finish_reason if isinstance(finish_reason, str) else ""
    status = STATUS_OK if text else f"no text ({finish_reason or 'no reason given'})"
    # Unpaired surrogates are valid JSON but cannot be written to a file: replace them.
    text = (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return ChatResponse(text, finish_reason, prompt_tokens, completion_tokens, status)


def _token_count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
