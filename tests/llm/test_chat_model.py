"""What every chat model does: order, equal requests, checks, the cache."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.llm import Budget, ChatModel, ResponseCache, max_token_bound, request_key
from radreward.types import ChatRequest, ChatResponse, Message


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


def ask(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), **settings)


@given(st.lists(st.text(max_size=3), max_size=20))
def test_order_and_length_stay_and_equal_requests_are_asked_once(texts: list[str]) -> None:
    model = Echo()
    answers = model.complete([ask(text) for text in texts])
    sound = [not any("\ud800" <= char <= "\udfff" for char in text) for text in texts]
    assert [answer.text for answer in answers] == [text if ok else "" for text, ok in zip(texts, sound, strict=True)]
    assert sorted(model.asked) == sorted({text for text, ok in zip(texts, sound, strict=True) if ok})


def test_progress_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    Echo(progress=True).complete([ask("a"), ask("b")])
    assert "answers" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (ask("a", temperature=-1.0), "request 1: Expected `temperature` to be >= 0"),
        (ask("a", temperature=float("nan")), "request 1: Expected `temperature` to be >= 0"),
        (ask("a", top_p=0.0), "Expected `top_p` to be in"),
        (ask("a", max_tokens=0), "Expected `max_tokens` to be >= 1"),
        (ask("a", seed=-1), "Expected `seed` to be in"),
        (ChatRequest(()), "Expected turns of system, user, assistant"),
        (ChatRequest((Message("user", "a"), Message("assistant", "b"))), "the user's last"),
        (ChatRequest((Message("tool", "a"), Message("user", "b"))), "Expected turns of"),
        (ChatRequest((Message("user", "a"), Message("user", "b"))), "Expected turns to alternate"),
        (ChatRequest((Message("user", "a"), Message("system", "b"), Message("user", "c"))), "the system's first"),
    ],
)
def test_requests_are_checked_before_any_is_asked(request_: ChatRequest, message: str) -> None:
    model = Echo()
    with pytest.raises(ValueError, match=message):
        model.complete([ask("good"), request_])
    assert model.asked == []


def test_equal_requests_have_equal_keys() -> None:
    assert request_key("m", ask("a", temperature=0)) == request_key("m", ask("a", temperature=0.0))
    parts = [("m", ask("ab")), ("n", ask("ab")), ("m", ask("a")), ("m", ask("ab", seed=1)), ("m", ask("ab", top_p=0.5))]
    assert len({request_key(*part) for part in parts}) == len(parts)


@settings(max_examples=25)
@given(st.text(), st.text(), st.text(min_size=1))
def test_a_cache_gives_back_what_it_got(key: str, text: str, status: str) -> None:
    answer = ChatResponse(text, "stop", None, 3, status)
    if any("\ud800" <= char <= "\udfff" for char in key):
        return
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / "answers.sqlite")
        cache.put(key, answer)
        assert cache.get(key) == answer
        cache.close()


def test_a_file_that_is_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_text("no database, but a text that is long enough to be told from an empty one " * 20)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"answers.sqlite: cannot be used as a cache of answers"):
        ResponseCache(path)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="cannot be used as a cache of answers"):
        ResponseCache(tmp_path)


def test_an_entry_that_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    ResponseCache(path).close()
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO answers VALUES ('k', '[1]')")
    file.close()
    with pytest.raises(InputError, match="key k: expected an answer as JSON"):
        ResponseCache(path).get("k")


def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    one, other = (ResponseCache(tmp_path / "answers.sqlite") for _ in range(2))
    one.put("k", ChatResponse("a", "stop", 1, 1, "ok"))
    other.put("l", ChatResponse("b", "stop", 1, 1, "ok"))
    assert len(one) == len(other) == 2


@given(st.text())
def test_a_token_has_a_byte_at_least(text: str) -> None:
    assert max_token_bound(ask(text, max_tokens=7)) >= len(text.encode("utf-8", "surrogatepass")) + 7


def test_a_budget_without_a_limit() -> None:
    budget = Budget()
    assert budget.reserve(10**12)
