"""What every chat model does: order, equal requests, checks, the cache."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io.cache import SQLiteCache
from radreward.llm import Budget, ChatModel, ResponseCache
from radreward.llm.budget import max_token_bound
from radreward.llm.messages import ChatRequest, ChatResponse, Message
from radreward.llm.response_cache import request_key


class Echo(ChatModel):
    """Answers in reverse order, with what was asked."""

    model_id = "echo"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in reversed(list(enumerate(requests))):
            self.asked.append(request.messages[-1].content)
            on_response(index, ChatResponse(request.messages[-1].content, "stop", 1, 1, "ok"))


def make_request(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), **settings)


@given(st.lists(st.text(max_size=3), max_size=20))
def test_complete_keeps_order_and_sends_duplicates_once(texts: list[str]) -> None:
    model = Echo()
    answers = model.complete([make_request(text) for text in texts])
    is_valid = [not any("\ud800" <= char <= "\udfff" for char in text) for text in texts]
    assert [answer.text for answer in answers] == [text if ok else "" for text, ok in zip(texts, is_valid, strict=True)]
    assert sorted(model.asked) == sorted({text for text, ok in zip(texts, is_valid, strict=True) if ok})


def test_complete_shows_progress(capfd: pytest.CaptureFixture[str]) -> None:
    Echo(progress=True).complete([make_request("a"), make_request("b")])
    assert "Responses" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (make_request("a", temperature=-1.0), "request 1: Expected `temperature` to be >= 0"),
        (make_request("a", temperature=float("nan")), "request 1: Expected `temperature` to be >= 0"),
        (make_request("a", top_p=0.0), "Expected `top_p` to be in"),
        (make_request("a", max_tokens=0), "Expected `max_tokens` to be >= 1"),
        (make_request("a", seed=-1), "Expected `seed` to be in"),
        (ChatRequest(()), "Expected turns of system, user, assistant"),
        (ChatRequest((Message("user", "a"), Message("assistant", "b"))), "ending with the user's"),
        (ChatRequest((Message("tool", "a"), Message("user", "b"))), "Expected turns of"),
        (ChatRequest((Message("user", "a"), Message("user", "b"))), "Expected turns to alternate"),
        (
            ChatRequest((Message("user", "a"), Message("system", "b"), Message("user", "c"))),
            "starting with the system's",
        ),
    ],
)
def test_complete_invalid_request_raises_before_sending(request_: ChatRequest, message: str) -> None:
    model = Echo()
    with pytest.raises(ValueError, match=message):
        model.complete([make_request("good"), request_])
    assert model.asked == []


def test_request_key_is_equal_for_equal_requests_only() -> None:
    assert request_key("m", make_request("a", temperature=0)) == request_key("m", make_request("a", temperature=0.0))
    parts = [
        ("m", make_request("ab")),
        ("n", make_request("ab")),
        ("m", make_request("a")),
        ("m", make_request("ab", seed=1)),
        ("m", make_request("ab", top_p=0.5)),
    ]
    assert len({request_key(*part) for part in parts}) == len(parts)


@settings(max_examples=25)
@given(st.text(), st.text(), st.text(min_size=1))
def test_response_cache_returns_stored_responses(key: str, text: str, status: str) -> None:
    answer = ChatResponse(text, "stop", None, 3, status)
    if any("\ud800" <= char <= "\udfff" for char in key):
        return
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / "responses.sqlite")
        cache.put(key, answer)
        assert cache.get(key) == answer
        cache.close()


def test_response_cache_invalid_entry_raises(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    SQLiteCache(path, namespace="chat responses").put({"k": b"[1]"})
    with pytest.raises(InputError, match="key k: Expected a response as JSON"):
        ResponseCache(path).get("k")


@given(st.text())
def test_max_token_bound_counts_at_least_a_token_per_byte(text: str) -> None:
    assert max_token_bound(make_request(text, max_tokens=7)) >= len(text.encode("utf-8", "surrogatepass")) + 7


def test_budget_without_a_limit_accepts_any_reservation() -> None:
    budget = Budget()
    assert budget.reserve(10**12)
