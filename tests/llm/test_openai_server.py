"""The client of chat servers, against a server in another process that fails on purpose."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.llm import OpenAIChatModel, ResponseCache, max_token_bound
from radreward.llm.openai_server import is_loopback, parse_response, retry_after
from radreward.types import ChatRequest, ChatResponse, Message

ROOT = Path(__file__).parents[2]
KEY = "sk-not-to-be-seen"


class Loopback(NamedTuple):
    """A running server and the log of what it was asked."""

    url: str
    log: Path

    def seen(self) -> list[dict[str, Any]]:
        """One entry per attempt: the text asked, what the server did, what came with it."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]

    def answered(self) -> Counter[str]:
        """How often each text was answered."""
        return Counter(entry["text"] for entry in self.seen() if entry["did"] == "answer")


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    """Starts servers with options; the environment names the last."""
    running: list[subprocess.Popen[str]] = []

    def start(*options: str) -> Loopback:
        log = tmp_path / f"log{len(running)}.jsonl"
        command = [sys.executable, str(ROOT / "benchmarks" / "_chat_server.py"), str(log), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        _name_server(monkeypatch, url)
        return Loopback(url, log)

    yield start
    for process in running:
        process.kill()
        process.communicate()


def _name_server(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_MODEL", "a-model")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def ask(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), **{"max_tokens": 16, **settings})


def test_answers_in_order(serve: Callable[..., Loopback]) -> None:
    server = serve()
    texts = ["b", 'ä\n"quoted", <tag>', "a", "b"]
    answers = OpenAIChatModel().complete([ask(text) for text in texts])
    assert [answer.text for answer in answers] == [text.upper() for text in texts]
    assert {answer.status for answer in answers} == {"ok"}
    assert answers[0] == ChatResponse("B", "stop", 1, 1, "ok")
    assert server.answered() == {text: 1 for text in texts}  # equal requests are asked once


def test_whole_request_is_sent(serve: Callable[..., Loopback]) -> None:
    server = serve()
    turns = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    OpenAIChatModel().complete([ChatRequest(turns, temperature=0.7, top_p=0.9, max_tokens=33, seed=5)])
    [entry] = server.seen()
    assert entry["key"] == f"Bearer {KEY}"
    assert entry["body"] == {
        "model": "a-model",
        "messages": [{"role": role, "content": content} for role, content in turns],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 33,
        "seed": 5,
    }


def test_nothing_to_ask(serve: Callable[..., Loopback]) -> None:
    server = serve()
    assert OpenAIChatModel().complete([]) == []
    assert server.seen() == []


@pytest.mark.parametrize("fault", ["busy", "error", "cut", "half", "slow", "garbage", "shape"])
def test_a_fault_is_tried_again(serve: Callable[..., Loopback], fault: str) -> None:
    server = serve("--faults", fault)
    requests = [ask(f"question {index}") for index in range(4)]
    answers = OpenAIChatModel(initial_backoff=0.01, timeout=1.0 if fault == "slow" else 30.0).complete(requests)
    assert [answer.text for answer in answers] == [f"QUESTION {index}" for index in range(4)]
    assert Counter(entry["did"] for entry in server.seen()) == {fault: 4, "answer": 4}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("busy", "the server said 429"),
        ("error", "the server said 500"),
        ("cut", "the connection failed"),
        ("half", "the connection failed"),
        ("slow", "it took longer than 0.2 s"),
        ("garbage", "the reply is no answer (expected JSON"),
        ("shape", "the reply is no answer (expected a chat completion)"),
    ],
)
def test_a_fault_that_stays_has_a_status(serve: Callable[..., Loopback], fault: str, said: str) -> None:
    server = serve("--faults", fault, "--always")
    [answer] = OpenAIChatModel(max_attempts=2, initial_backoff=0.01, timeout=0.2 if fault == "slow" else 30.0).complete(
        [ask("a")]
    )
    assert answer.status.startswith(f"no answer after 2 attempts: {said}")
    assert answer[:4] == ("", "", None, None)
    assert len(server.seen()) == 2


def test_some_fail_and_the_others_are_kept(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    serve("--faults", "error", "--always", "--share", "0.5")
    cache = ResponseCache(tmp_path / "answers.sqlite")
    answers = OpenAIChatModel(max_attempts=1, concurrency=50, cache=cache).complete([ask(f"q {i}") for i in range(40)])
    right = [answer.text == f"Q {i}" and answer.status == "ok" for i, answer in enumerate(answers)]
    assert 0 < sum(right) == len(cache) < 40  # what failed is not kept
    assert all(answer.status.startswith("no answer") for answer, ok in zip(answers, right, strict=True) if not ok)


def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    _name_server(monkeypatch, f"http://127.0.0.1:{port}/v1")
    model = OpenAIChatModel(max_attempts=2, initial_backoff=0.001, concurrency=4)
    statuses = [answer.status for answer in model.complete([ask(str(i)) for i in range(200)])]
    tried = [status for status in statuses if status.startswith("no answer after 2 attempts: the connection failed")]
    assert 4 <= len(tried) < 8  # then it is given up
    assert all(status.startswith("not sent: ") for status in statuses[len(tried) :])
    assert "requests in a row had no answer" in statuses[-1]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "the server does not accept OPENAI_API_KEY"),
        (403, "the server does not allow this with OPENAI_API_KEY"),
        (404, "the server has no such address or model (OPENAI_BASE_URL, OPENAI_MODEL)"),
    ],
)
def test_a_refusal_of_everything_stops_the_job(serve: Callable[..., Loopback], code: int, said: str) -> None:
    server = serve("--code", str(code))
    answers = OpenAIChatModel(concurrency=2).complete([ask(str(i)) for i in range(100)])
    assert len(answers) == 100
    assert answers[0].status == f"refused ({code}): {said}"
    assert answers[-1].status == f"not sent: {said}"
    assert len(server.seen()) <= 2


def test_a_refusal_of_one_request_is_its_own(serve: Callable[..., Loopback]) -> None:
    server = serve("--code", "400")
    answers = OpenAIChatModel().complete([ask(f"{KEY} {server.url} {i}") for i in range(40)])
    assert {answer.status for answer in answers} == {f"refused (400): This is refused: *** *** {i}" for i in range(40)}
    assert len(server.seen()) == 40


def test_a_redirect_is_not_followed(serve: Callable[..., Loopback]) -> None:
    server = serve("--code", "307")
    [answer] = OpenAIChatModel().complete([ask("a")])
    assert answer.status.startswith("refused (307)")
    assert len(server.seen()) == 1


def test_no_more_at_a_time_than_was_said(serve: Callable[..., Loopback]) -> None:
    server = serve("--delay", "0.02")
    OpenAIChatModel(concurrency=3).complete([ask(str(i)) for i in range(30)])
    assert max(entry["open"] for entry in server.seen()) == 3


# --- budget


@pytest.mark.parametrize("options", [(), ("--no-usage",), ("--faults", "cut", "busy", "--share", "0.5")])
def test_the_budget_is_never_passed(serve: Callable[..., Loopback], options: tuple[str, ...]) -> None:
    server = serve(*options)
    requests = [ask(f"number {i:03}") for i in range(100)]
    bound = max_token_bound(requests[0])
    limit = 20 * bound
    model = OpenAIChatModel(budget=limit, concurrency=8, initial_backoff=0.001)
    answers = model.complete(requests)
    good = [answer for answer in answers if answer.status == "ok"]
    assert 10 < len(good) <= 100
    assert all(answer.status.startswith("not sent: the budget is used up") for answer in answers if answer not in good)
    assert model.budget.spent <= limit
    assert model.budget.reserved == 0
    if not options:
        assert len(good) == 100  # each took 4 tokens, though up to `bound` had to be set aside
        assert model.budget.spent == 400
    if options == ("--no-usage",):
        assert len(good) == 20  # what is not known counts in full
        assert len(server.seen()) == 20


def test_a_budget_too_small_for_one(serve: Callable[..., Loopback]) -> None:
    server = serve()
    long, short = ask("x" * 500), ask("y")
    answers = OpenAIChatModel(budget=200).complete([long, short])
    assert answers[0].status.startswith("not sent: the budget is used up (")
    assert answers[1].text == "Y"
    assert len(server.seen()) == 1


# --- cache and resume


def test_what_was_answered_is_not_asked_again(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve()
    path = tmp_path / "cache" / "answers.sqlite"
    first = OpenAIChatModel(cache=ResponseCache(path)).complete([ask("a"), ask("b")])
    model = OpenAIChatModel(cache=ResponseCache(path))
    second = model.complete([ask("c"), ask("b"), ask("a")])
    assert second == [ChatResponse("C", "stop", 1, 1, "ok"), first[1], first[0]]
    assert server.answered() == {"a": 1, "b": 1, "c": 1}
    assert model.budget.spent == 2  # what is known costs nothing


def test_another_setting_is_another_request(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "answers.sqlite"))
    for settings in ({}, {"seed": 1}, {"temperature": 0.5}, {"top_p": 0.5}, {"max_tokens": 5}):
        model.complete([ask("a", **settings)])
    model.complete([ChatRequest((Message("system", "s"), Message("user", "a")), max_tokens=16)])
    assert server.answered() == {"a": 6}


def test_another_model_is_another_request(
    serve: Callable[..., Loopback], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "answers.sqlite"))
    model.complete([ask("a")])
    monkeypatch.setenv("OPENAI_MODEL", "another")
    model.complete([ask("a")])
    assert server.answered() == {"a": 2}


JOB = """
import sys
from radreward.llm import AnswerCache, ServerChat
from radreward.types import ChatRequest, Message
model = ServerChat(concurrency=16, wait=0.01, cache=AnswerCache(sys.argv[1]))
model.complete([ChatRequest((Message("user", f"question {i}"),), max_tokens=16) for i in range(1000)])
"""


def test_a_killed_job_goes_on(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve("--faults", "busy", "error", "cut", "--share", "0.1", "--delay", "0.04")
    path = tmp_path / "answers.sqlite"
    process = subprocess.Popen([sys.executable, "-c", JOB, str(path)], cwd=ROOT)
    deadline = time.monotonic() + 200
    while sum(server.answered().values()) < 300:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = len(ResponseCache(path))
    assert 200 < kept < 1000
    before = server.answered()
    model = OpenAIChatModel(concurrency=16, initial_backoff=0.01, cache=ResponseCache(path))
    answers = model.complete([ask(f"question {i}") for i in range(1000)])
    assert [answer.text for answer in answers] == [f"QUESTION {i}" for i in range(1000)]
    every = server.answered()
    assert len(every) == len(ResponseCache(path)) == 1000
    assert sum((every - before).values()) == 1000 - kept  # none that was kept is asked again
    # Only an answer that was on its way when the process died could not be kept: 16 at most.
    assert sum(every.values()) - 1000 <= 16


def test_2000_requests_with_faults(serve: Callable[..., Loopback]) -> None:
    server = serve("--faults", "busy", "error", "cut", "half", "garbage", "shape", "--share", "0.1")
    answers = OpenAIChatModel(concurrency=16, initial_backoff=0.01).complete(
        [ask(f"question {i}") for i in range(2000)]
    )
    assert [answer.text for answer in answers] == [f"QUESTION {i}" for i in range(2000)]  # none lost, in order
    assert set(server.answered().values()) == {1}  # none repeated
    assert 150 < sum(entry["did"] != "answer" for entry in server.seen()) < 250


# --- what may not leave, and what may not be seen


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://10.0.0.1/v1", False),
        ("http://0.0.0.0/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://localhost@example.org/v1", False),
        ("https://api.example.org/127.0.0.1", False),
    ],
)
def test_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_reports_do_not_leave_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    _name_server(monkeypatch, "https://chat.invalid/v1")
    with pytest.raises(InputError, match="OPENAI_BASE_URL is not this machine: expected `send_reports`") as error:
        OpenAIChatModel().complete([ask("a")])
    assert "chat.invalid" not in str(error.value)


@pytest.mark.parametrize(("scheme", "plain"), [("https", False), ("http", True)])
def test_what_leaves_is_said(monkeypatch: pytest.MonkeyPatch, scheme: str, plain: bool) -> None:
    _name_server(monkeypatch, f"{scheme}://chat.invalid/v1")
    model = OpenAIChatModel(allow_remote=True)
    sent: list[int] = []

    def run(job: Coroutine[Any, Any, None]) -> None:
        job.close()
        sent.append(1)

    monkeypatch.setattr(asyncio, "run", run)
    with pytest.warns(UserWarning, match="2 requests, with the whole text of the reports") as caught:
        model._generate([ask("a"), ask("b")], lambda index, answer: None)
    assert ("unencrypted" in str(caught[0].message)) is plain
    assert sent == [1]


def test_a_server_here_needs_no_leave_and_no_key(
    serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # of no use, and not used
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OpenAIChatModel(max_attempts=1).complete([ask("a")])[0].text == "A"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OPENAI_BASE_URL", "", "Expected the environment to have OPENAI_BASE_URL"),
        ("OPENAI_MODEL", " ", "Expected the environment to have OPENAI_MODEL"),
        ("OPENAI_API_KEY", "", "Expected the environment to have OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "schlüssel", "OPENAI_API_KEY: expected ASCII characters"),
        ("OPENAI_BASE_URL", "127.0.0.1:80", "OPENAI_BASE_URL: expected an address"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:99999/v1", "OPENAI_BASE_URL: expected an address"),
        ("OPENAI_BASE_URL", "http://[::1/v1", "OPENAI_BASE_URL: expected an address"),
    ],
)
def test_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    _name_server(monkeypatch, "https://chat.invalid/v1")
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message):
        OpenAIChatModel(allow_remote=True).complete([ask("a")])


def test_key_address_and_reports_are_not_logged_or_stored(
    serve: Callable[..., Loopback], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve("--faults", "error", "busy", "cut")
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    path = tmp_path / "answers.sqlite"
    model = OpenAIChatModel(initial_backoff=0.001, cache=ResponseCache(path))
    answers = model.complete([ask(f"secret report {i}") for i in range(6)])
    assert {answer.status for answer in answers} == {"ok"}
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("answers.sqlite*"))
    shown = caplog.text + repr(vars(model)) + repr(model)
    for secret in (KEY, server.url, "secret report"):
        assert secret not in shown
        assert secret.encode() not in stored
    assert b"SECRET REPORT 5" in stored  # the answers, and these alone
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("answers.sqlite*"))


def test_inside_a_running_loop(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "answers.sqlite"))

    async def notebook() -> list[ChatResponse]:
        return model.complete([ask("a")])

    assert asyncio.run(notebook())[0].text == "A"


def test_half_a_character_is_not_sent(serve: Callable[..., Loopback]) -> None:
    server = serve()
    answers = OpenAIChatModel().complete([ask("\ud800"), ask("b")])
    assert answers[0].status == "not sent: expected message 1 to be Unicode text"
    assert answers[1].text == "B"
    assert len(server.seen()) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "Expected `concurrency` to be >= 1"),
        ({"attempts": 0}, "Expected `attempts` to be >= 1"),
        ({"timeout": 0}, "Expected `timeout` to be > 0"),
        ({"timeout": float("nan")}, "Expected `timeout` to be > 0"),
        ({"wait": -1}, "Expected `wait` to be >= 0"),
        ({"budget": -1}, "Expected `limit` to be >= 0"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenAIChatModel(**settings)


# --- replies


@given(
    st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda v: (
            st.lists(v)
            | st.dictionaries(
                st.sampled_from(["choices", "message", "content", "usage", "finish_reason", "prompt_tokens"]), v
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_reply_is_an_answer_or_a_value_error(reply: bytes) -> None:
    try:
        answer = parse_response(reply)
    except ValueError:
        return
    assert bool(answer.text) == (answer.status == "ok")


def test_a_reply_without_text() -> None:
    reply = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}], "usage": None}
    assert parse_response(json.dumps(reply).encode()).status == "no text (content_filter)"


def test_half_a_character_in_a_reply() -> None:
    reply = b'{"choices": [{"message": {"content": "a\\ud800 \\ud83d\\ude00"}}]}'
    assert parse_response(reply).text == "a\ufffd \U0001f600"


def test_deep_json_is_no_answer() -> None:
    with pytest.raises(ValueError, match="nested too deep|expected"):
        parse_response(b"[" * 1_000_000)


def test_retry_after_as_a_date() -> None:
    assert 20 < retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)}) <= 30
    assert retry_after({"retry-after": formatdate(time.time() - 30, usegmt=True)}) == 0
    assert retry_after({"retry-after": "inf"}) == retry_after({"retry-after": "nan"}) == 0


def test_a_server_that_asks_for_time_gets_it(serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    serve("--faults", "busy")  # asks for 0.05 s
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    OpenAIChatModel(initial_backoff=0.0).complete([ask("a")])
    assert waits == [0.05]


def test_address_and_model_may_be_arguments(serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    _name_server(monkeypatch, "http://127.0.0.1:9/v1")
    model = OpenAIChatModel("another", server.url)
    assert [answer.status for answer in model.complete([ask("a")])] == ["ok"]
    assert server.seen()[0]["body"]["model"] == "another"
    assert "another" in model.model_id


def test_the_field_that_bounds_an_answer(serve: Callable[..., Loopback]) -> None:
    server = serve()
    OpenAIChatModel(max_tokens_field="max_completion_tokens").complete([ask("a")])
    assert server.seen()[0]["body"]["max_completion_tokens"] == 16
    assert "max_tokens" not in server.seen()[0]["body"]


@pytest.mark.parametrize(
    ("said", "closed"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use another.", True),
        ("[{'type': 'extra_forbidden', 'loc': ('max_tokens',), 'msg': 'Extra inputs are not permitted'}]", True),
        ("Unrecognized request argument supplied: max_tokens", True),
        ("max_tokens is too large: 99999. This model supports at most 4096 completion tokens.", False),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", False),
    ],
)
def test_a_field_that_is_refused_ends_the_job(serve: Callable[..., Loopback], said: str, closed: bool) -> None:
    server = serve("--code", "400")  # it refuses with what it is asked
    answers = OpenAIChatModel(concurrency=1).complete([ask(said), ask("b")])
    assert len(server.seen()) == (1 if closed else 2)
    if closed:
        told = "the server does not take max_tokens; set length_field to max_completion_tokens"
        assert answers[0].status == f"refused (400): {told}"
        assert answers[1].status == f"not sent: {told}"
    else:
        assert answers[0].status.startswith("refused (400): This is refused")


def test_the_other_field_that_is_refused(serve: Callable[..., Loopback]) -> None:
    serve("--code", "422")
    [answer] = OpenAIChatModel(max_tokens_field="max_completion_tokens").complete(
        [ask("Unknown field: max_completion_tokens")]
    )
    assert answer.status.endswith("set length_field to max_tokens")
