"""Answers of a server that speaks the chat protocol of OpenAI, through the `openai` package."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import json
import logging
import os
import random
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from radreward.errors import InputError
from radreward.llm.budget import max_token_bound
from radreward.llm.chat_model import STATUS_OK, ChatModel, failed_response
from radreward.llm.response_cache import ResponseCache
from radreward.types import ChatRequest, ChatResponse

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

URL, MODEL, KEY = "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"
MAX_BACKOFF = 60.0
"""Seconds between two attempts, whatever a server asks for."""
RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
"""Refusals that another attempt may turn, besides those from 500 on."""
FATAL_STATUS = {
    401: f"the server does not accept {KEY}",
    403: f"the server does not allow this with {KEY}",
    404: f"the server has no such address or model ({URL}, {MODEL})",
}
"""Refusals of every request: after one of these no other is sent."""


class _RetryableError(Exception):
    """An attempt that failed, and that may succeed another time."""

    def __init__(self, reason: str, wait: float = 0.0, cost: int | None = None) -> None:
        super().__init__(reason)
        self.wait = wait
        self.cost = cost


MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
"""Names of the field that bounds an answer."""
MAX_TOKENS_FIELDS = get_args(MaxTokensField)
_UNKNOWN_FIELD = re.compile(
    r"\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra|not (?:supported|permitted))\b", re.I
)


class _ServerSettings(NamedTuple):
    """Where requests go; never shown, logged or stored."""

    url: str
    model: str
    key: str

    def redact(self, text: str) -> str:
        """A text without them."""
        return text.replace(self.key, "***").replace(self.url, "***")


class OpenAIChatModel(ChatModel):
    """Any server with `/chat/completions`: of OpenAI, vLLM, `transformers serve` and others.

    The environment says which: OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY (which a server on this machine may do
    without). They are read when requests are sent, and are never shown, logged or stored. Address and model may be
    arguments instead, the key may not.

    Most servers bound an answer by `max_tokens`; some models of OpenAI take `max_completion_tokens` only, and then
    count what they think too. One that refuses the field that is set ends the job, and the status says which to set.

    A request is tried again, after waits that double, where the server is busy (429) or fails (from 500 on), where the
    connection breaks, where it takes too long, and where the reply is no answer. What a server asks for in Retry-After
    is heeded, up to a minute. After a refusal that concerns every request, or after `concurrency` requests in a row for
    which all attempts failed, nothing more is sent; every answer that is missing says why in its status. Tokens of an
    attempt whose cost is not known count in full against the budget.

    Args:
        model: The model, in the place of OPENAI_MODEL.
        base_url: The address, in the place of OPENAI_BASE_URL.
        length_field: The field that bounds an answer.
        send_reports: Allow a server that is not this machine; requests hold reports, and they leave the machine.
        concurrency: Requests under way at a time.
        attempts: How often a request is tried.
        timeout: Seconds for an attempt, from its start to the whole reply.
        wait: Seconds before the second attempt; a random part of it is left out, so that attempts do not coincide.
        cache: See `ChatModel`.
        budget: See `ChatModel`.
        progress: See `ChatModel`.

    Raises:
        ValueError: If a number is out of its range.
        InputError: If the `openai` package is not there.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        max_tokens_field: MaxTokensField = "max_tokens",
        allow_remote: bool = False,
        concurrency: int = 16,
        max_attempts: int = 6,
        timeout: float = 120.0,
        initial_backoff: float = 0.5,
        cache: ResponseCache | None = None,
        budget: int | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(cache, budget, progress)
        for name, value in (("concurrency", concurrency), ("attempts", max_attempts)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        if not timeout > 0:
            raise ValueError(f"Expected `timeout` to be > 0 but got {timeout}.")
        if initial_backoff < 0:
            raise ValueError(f"Expected `wait` to be >= 0 but got {initial_backoff}.")
        if max_tokens_field not in MAX_TOKENS_FIELDS:
            raise ValueError(
                f"Expected `length_field` to be one of {', '.join(MAX_TOKENS_FIELDS)} but got {max_tokens_field!r}."
            )
        if importlib.util.find_spec("openai") is None:
            raise InputError("A chat server needs the extra `llm`: pip install 'radreward[llm]'.")
        self.model = model
        self.base_url = base_url
        self.max_tokens_field = max_tokens_field
        self.allow_remote = allow_remote
        self.concurrency = concurrency
        self.max_attempts = max_attempts
        self.timeout = timeout
        self.initial_backoff = initial_backoff

    @property
    def model_id(self) -> str:
        """The server's address and model."""
        settings = self._settings()
        return f"server {settings.url} {settings.model}"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel.answer`.

        Raises:
            InputError: If the environment does not name a server and a model, or names one that is not this machine
                without `send_reports`.
        """
        settings = self._settings()
        if not is_loopback(settings.url):
            self._confirm_remote(settings, len(requests))
        # These packages log addresses, headers and, when asked to by the environment, whole requests.
        for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)
        job = _RequestRunner(self, settings, requests, on_response).run()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(job)
        else:  # a notebook has a loop of its own
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, job).result()

    def _confirm_remote(self, settings: _ServerSettings, requests: int) -> None:
        if not self.allow_remote:
            raise InputError(
                f"{URL} is not this machine: expected `send_reports` to be true, since every request holds reports "
                "and they would leave the machine."
            )
        plain = ", unencrypted (http)" if urlsplit(settings.url).scheme != "https" else ""
        warnings.warn(
            f"{requests} requests, with the whole text of the reports in them, leave this machine{plain} "
            f"for the server of {URL}.",
            stacklevel=4,
        )

    def _settings(self) -> _ServerSettings:
        set_here = {URL: self.base_url, MODEL: self.model}
        url, model, key = ((set_here.get(name) or os.environ.get(name, "")).strip() for name in (URL, MODEL, KEY))
        for name, value in ((URL, url), (MODEL, model)):
            if not value:
                raise InputError(f"Expected the environment to have {name} but it is not set.")
        if not _is_valid_url(url):
            raise InputError(f"{URL}: expected an address such as http://localhost:8000/v1.")
        if not key and not is_loopback(url):
            raise InputError(f"Expected the environment to have {KEY} but it is not set.")
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{KEY}: expected ASCII characters only.")
        return _ServerSettings(url, model, key or "none")


def _is_valid_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or too high
        return False


def is_loopback(url: str) -> bool:
    """Whether an address is one of the loopback.

    >>> is_this_machine("http://127.0.0.1:8000/v1"), is_this_machine("https://127.0.0.1.example.org/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _RequestRunner:
    """One call of `OpenAIChatModel.answer`."""

    def __init__(
        self,
        model: OpenAIChatModel,
        settings: _ServerSettings,
        requests: Sequence[ChatRequest],
        on_response: Callable[[int, ChatResponse], None],
    ) -> None:
        self.model, self.settings, self.requests, self.on_response = model, settings, requests, on_response
        self.queue = deque(range(len(requests)))
        self.stop_reason: str | None = None  # why nothing more is sent
        self.failures = 0  # requests in a row for which all attempts failed
        self.budget_released = asyncio.Condition()

    async def run(self) -> None:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        # A redirect could lead reports off the machine; so could a proxy.
        transport = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=not is_loopback(self.settings.url))
        async with AsyncOpenAI(
            base_url=self.settings.url,
            api_key=self.settings.key,
            timeout=self.model.timeout,
            max_retries=0,
            http_client=transport,
        ) as client:
            workers = min(self.model.concurrency, len(self.requests))
            await asyncio.gather(*(self._work(client) for _ in range(workers)))

    async def _work(self, client: AsyncOpenAI) -> None:
        while self.queue:
            index = self.queue.popleft()
            self.on_response(index, await self._request_with_retries(client, self.requests[index]))

    async def _request_with_retries(self, client: AsyncOpenAI, request: ChatRequest) -> ChatResponse:
        reason = ""
        for attempt in range(self.model.max_attempts):
            if self.stop_reason:
                return failed_response(f"not sent: {self.stop_reason}")
            if not await self._reserve(request):
                return failed_response(self.model.budget.exceeded_message(max_token_bound(request)))
            try:
                answer = await self._attempt(client, request)
            except _RetryableError as again:
                reason = str(again)
                if attempt + 1 < self.model.max_attempts:
                    wait = self.model.initial_backoff * 2**attempt * random.uniform(0.5, 1.0)
                    await asyncio.sleep(min(max(wait, again.wait), MAX_BACKOFF))
            else:
                self.failures = 0
                return answer
        self.failures += 1
        if self.failures >= self.model.concurrency and not self.stop_reason:
            self.stop_reason = f"{self.failures} requests in a row had no answer, the last because {reason}"
        return failed_response(f"no answer after {self.model.max_attempts} attempts: {reason}")

    async def _reserve(self, request: ChatRequest) -> bool:
        """Set aside what an attempt may cost; waits for others to end where too little is left before they do."""
        budget, tokens = self.model.budget, max_token_bound(request)
        async with self.budget_released:
            while not budget.reserve(tokens):
                if not budget.reserved:
                    return False
                await self.budget_released.wait()
        return True

    async def _attempt(self, client: AsyncOpenAI, request: ChatRequest) -> ChatResponse:
        bound = cost = max_token_bound(request)
        try:
            answer, known = await self._send(client, request)
            cost = bound if known is None else known
            return answer
        except _RetryableError as again:
            cost = bound if again.cost is None else again.cost
            raise
        finally:
            self.model.budget.release(bound, cost)
            async with self.budget_released:
                self.budget_released.notify_all()

    async def _send(self, client: AsyncOpenAI, request: ChatRequest) -> tuple[ChatResponse, int | None]:
        """One attempt: the answer and what it cost, None where that is not known."""
        import openai

        messages: Any = [{"role": role, "content": content} for role, content in request.messages]
        limit: Any = {self.model.max_tokens_field: request.max_tokens}
        try:
            async with asyncio.timeout(self.model.timeout):
                reply = await client.chat.completions.with_raw_response.create(
                    model=self.settings.model,
                    messages=messages,
                    temperature=request.temperature,
                    top_p=request.top_p,
                    seed=request.seed,
                    **limit,
                )
            answer = parse_response(reply.content)
        except openai.APIStatusError as error:
            return self._handle_refusal(error), 0
        except (TimeoutError, openai.APITimeoutError) as error:
            raise _RetryableError(f"it took longer than {self.model.timeout:g} s") from error
        except openai.APIConnectionError as error:
            raise _RetryableError(f"the connection failed ({type(error.__cause__).__name__})") from error
        except ValueError as error:
            raise _RetryableError(f"the reply is no answer ({error})") from error
        if answer.prompt_tokens is None or answer.completion_tokens is None:
            return answer, None
        return answer, answer.prompt_tokens + answer.completion_tokens

    def _handle_refusal(self, error: APIStatusError) -> ChatResponse:
        code = error.status_code
        if code in RETRYABLE_STATUS or code >= 500:
            raise _RetryableError(f"the server said {code}", retry_after(error.response.headers), cost=0) from error
        if code in FATAL_STATUS:
            self.stop_reason = FATAL_STATUS[code]
            return failed_response(f"refused ({code}): {FATAL_STATUS[code]}")
        said = error.body.get("message") if isinstance(error.body, dict) else error.body
        if code in (400, 422) and _not_taken(self.model.max_tokens_field, str(said)):
            other = next(name for name in MAX_TOKENS_FIELDS if name != self.model.max_tokens_field)
            self.stop_reason = f"the server does not take {self.model.max_tokens_field}; set length_field to {other}"
            return failed_response(f"refused ({code}): {self.stop_reason}")
        return failed_response(f"refused ({code}): {self.settings.redact(' '.join(str(said).split())[:200])}")


def _not_taken(field: str, said: str) -> bool:
    """Whether a refusal is about a field that a server does not know, rather than about its value."""
    return bool(re.search(rf"\b{field}\b", said) and _UNKNOWN_FIELD.search(said))


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds to wait that a server asks for, as a number or a date; 0 where it does not or cannot be read.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after": "soon"}), retry_after({})
    (1.5, 0.0, 0.0)
    """
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0


def parse_response(reply: bytes) -> ChatResponse:
    """The answer in the body of a reply.

    Raises:
        ValueError: If it is no JSON, or no chat completion with a text.

    >>> read_answer(b'{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}')
    ChatAnswer(text='Yes.', finish='stop', prompt_tokens=None, completion_tokens=None, status='ok')
    """
    try:
        value = json.loads(reply)
        choice = value["choices"][0]
        text, finish, usage = choice["message"]["content"], choice.get("finish_reason"), value.get("usage")
    except RecursionError as error:
        raise ValueError("JSON nested too deep") from error
    except UnicodeDecodeError as error:
        raise ValueError("expected UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"expected JSON: {error}") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("expected a chat completion") from error
    if text is not None and not isinstance(text, str):
        raise ValueError("expected a text as content")
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = (_token_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    finish = finish if isinstance(finish, str) else ""
    if not text:
        return ChatResponse("", finish, prompt, completion, f"no text ({finish or 'no reason given'})")
    # Halves of characters, which JSON can hold and a file cannot, become a mark.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return ChatResponse(whole, finish, prompt, completion, STATUS_OK)


def _token_count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
