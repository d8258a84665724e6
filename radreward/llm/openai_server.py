"""Chat model behind an OpenAI-compatible server. Without consent, nothing is sent to another machine."""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from radreward.errors import InputError, check_choice
from radreward.extras import require_packages
from radreward.llm.chat_model import STATUS_OK, ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.llm.response_cache import ResponseCache, request_key
from radreward.llm.server_requests import (
    KEY,
    MAX_TOKENS_FIELDS,
    MODEL,
    URL,
    MaxTokensField,
    RequestRunner,
    ServerSettings,
    is_loopback,
)


class OpenAIChatModel(ChatModel):
    """Any server with `/chat/completions`: OpenAI, vLLM, `transformers serve` and others.

    Every request has an `Idempotency-Key`, a hash of its content: a server that supports the key never charges twice
    for the same request. `lost_answers` counts requests that were under way when an earlier run was killed.

    Address, model and key come from OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY (optional for a server on this
    machine). They are read when requests are sent, and never printed, logged or stored.

    The `openai` client retries with exponential backoff if the server is busy (429) or fails (500 and above), if the
    connection breaks or times out, and if the reply is not a chat completion. The client waits as long as Retry-After
    requests. After an error that every request would have, or after `concurrency` failed requests in a row, nothing
    more is sent. The status of each missing response gives the reason. An attempt of unknown cost counts with its upper
    bound.

    Args:
        model: Name of the model; defaults to OPENAI_MODEL.
        base_url: Address of the server; defaults to OPENAI_BASE_URL.
        max_tokens_field: Request field that limits the length of a response. Some models of OpenAI accept only
            `max_completion_tokens`, which includes their reasoning.
        allow_remote: Allow a server on another machine. Requests contain reports.
        concurrency: Maximum number of simultaneous requests.
        max_retries: Maximum number of retries per request.
        timeout: Seconds to wait for a reply.
        cache: See `ChatModel`.
        budget: See `ChatModel`.
        progress: See `ChatModel`.

    Attributes:
        lost_answers: Number of requests that were under way when an earlier run was killed, were sent again, and were
            not recognized by the server: they may have been paid for twice.

    Raises:
        ValueError: If a number is out of range.
        InputError: If the `openai` package is not installed.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        max_tokens_field: MaxTokensField = "max_tokens",
        allow_remote: bool = False,
        concurrency: int = 16,
        max_retries: int = 5,
        timeout: float = 120.0,
        cache: ResponseCache | None = None,
        budget: int | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(cache, budget, progress)
        if concurrency < 1:
            raise ValueError(f"Expected `concurrency` to be >= 1 but got {concurrency}.")
        if max_retries < 0:
            raise ValueError(f"Expected `max_retries` to be >= 0 but got {max_retries}.")
        if not timeout > 0:
            raise ValueError(f"Expected `timeout` to be > 0 but got {timeout}.")
        check_choice("max_tokens_field", max_tokens_field, MAX_TOKENS_FIELDS)
        require_packages("A chat server", "openai")
        self.model = model
        self.base_url = base_url
        self.max_tokens_field = max_tokens_field
        self.allow_remote = allow_remote
        self.concurrency = concurrency
        self.max_retries = max_retries
        self.timeout = timeout
        self.lost_answers = 0

    @property
    def model_id(self) -> str:
        """Address and model; only their hash is stored."""
        settings = self._server_settings()
        return f"server {settings.url} {settings.model}"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel._generate`."""
        settings = self._server_settings()
        if not is_loopback(settings.url):
            self._confirm_remote(settings, len(requests))
        _silence_loggers()
        cache = self.cache
        model_id = self.model_id
        keys = [request_key(model_id, request) for request in requests]
        unanswered = set() if cache is None else cache.unanswered()
        sent: set[int] = set()

        def on_send(index: int) -> None:
            sent.add(index)
            if cache is not None:
                cache.mark_sent(keys[index])

        def on_settled(index: int, response: ChatResponse) -> None:
            if cache is not None and index in sent and response.status != STATUS_OK:
                cache.forget(keys[index])
            on_response(index, response)

        runner = RequestRunner(settings, self.budget, requests, on_send, on_settled)
        _run(runner.run())
        self._report_repeated({index for index in sent if keys[index] in unanswered}, runner.replayed)

    def _report_repeated(self, repeated: set[int], replayed: set[int]) -> None:
        """Count the requests that an earlier run had sent but whose answers it did not receive."""
        lost = len(repeated - replayed)
        self.lost_answers += lost
        if repeated:
            warnings.warn(
                f"{len(repeated)} requests were under way when an earlier run ended, and were sent again. The server "
                f"repeated {len(repeated) - lost} of their answers; {lost} are lost, and may have been paid for twice.",
                stacklevel=4,
            )

    def _confirm_remote(self, settings: ServerSettings, num_requests: int) -> None:
        if not self.allow_remote:
            raise InputError(
                f"{URL} is not on this machine: Expected `allow_remote` to be true, because every request contains "
                "reports, which would leave the machine."
            )
        plain = ", unencrypted (http)" if urlsplit(settings.url).scheme != "https" else ""
        warnings.warn(
            f"{num_requests} requests, which contain complete reports, leave this machine{plain} for the server of "
            f"{URL}.",
            stacklevel=4,
        )

    def _server_settings(self) -> ServerSettings:
        arguments = {URL: self.base_url, MODEL: self.model}
        url, model, key = ((arguments.get(name) or os.environ.get(name, "")).strip() for name in (URL, MODEL, KEY))
        for name, value in ((URL, url), (MODEL, model)):
            if not value:
                raise InputError(f"Expected the environment variable {name} but it is not set.")
        if not _is_valid_url(url):
            raise InputError(f"{URL}: Expected an address such as http://localhost:8000/v1.")
        if "@" in urlsplit(url).netloc:
            raise InputError(f"{URL}: Expected an address without user name and password. Put the key into {KEY}.")
        if not key and not is_loopback(url):
            raise InputError(f"Expected the environment variable {KEY} but it is not set.")
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{KEY}: Expected ASCII characters only.")
        return ServerSettings(
            url=url,
            model=model,
            key=key or "none",
            max_tokens_field=self.max_tokens_field,
            concurrency=self.concurrency,
            max_retries=self.max_retries,
            timeout=self.timeout,
        )


def _silence_loggers() -> None:
    """Silence packages that log addresses and headers and, if OPENAI_LOG or the application asks for it, requests."""
    import_module("openai")  # sets its levels
    for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
        for logger in [name, *(child for child in logging.root.manager.loggerDict if child.startswith(f"{name}."))]:
            logging.getLogger(logger).setLevel(logging.WARNING)


def _run(job: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(job)
    else:  # a notebook runs its own loop
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, job).result()


def _is_valid_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        return False
