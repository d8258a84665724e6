"""Chat models behind a server, against a server in another process that fails on purpose."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.llm import OpenAIChatModel, ResponseCache
from radreward.llm.budget import max_token_bound
from radreward.llm.messages import ChatRequest, ChatResponse, Message
from radreward.llm.server_requests import is_loopback, parse_response

ROOT = Path(__file__).parents[2]
KEY = "sk-not-to-be-seen"


class Loopback(NamedTuple):
    """A running server and the log of its requests."""

    url: str
    log: Path

    def attempts(self) -> list[dict[str, Any]]:
        """Return one entry per attempt: the text, the action of the server, key and body."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]

    def answered(self) -> Counter[str]:
        """Return how often each text was answered."""
        return Counter(entry["text"] for entry in self.attempts() if entry["did"] == "answer")


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    """Return a function that starts a server with options; the environment names the last one."""
    running: list[subprocess.Popen[str]] = []

    def start(*options: str) -> Loopback:
        log = tmp_path / f"log{len(running)}.jsonl"
        command = [sys.executable, "-I", "-S", str(ROOT / "benchmarks" / "_chat_server.py"), str(log), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        _set_environment(monkeypatch, url)
        return Loopback(url, log)

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


def _set_environment(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_MODEL", "a-model")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def make_request(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), **{"max_tokens": 16, **settings})


def test_complete_returns_responses_in_order_and_asks_duplicates_once(serve: Callable[..., Loopback]) -> None:
    server = serve()
    texts = ["b", 'ä\n"quoted", <tag>', "a", "b"]
    answers = OpenAIChatModel().complete([make_request(text) for text in texts])
    assert [answer.text for answer in answers] == [text.upper() for text in texts]
    assert {answer.status for answer in answers} == {"ok"}
    assert answers[0] == ChatResponse("B", "stop", 1, 1, "ok")
    assert server.answered() == {text: 1 for text in texts}  # duplicates are sent once


def test_complete_sends_all_messages_and_settings(serve: Callable[..., Loopback]) -> None:
    server = serve()
    turns = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    OpenAIChatModel().complete([ChatRequest(turns, temperature=0.7, top_p=0.9, max_tokens=33, seed=5)])
    [entry] = server.attempts()
    assert entry["key"] == f"Bearer {KEY}"
    assert entry["body"] == {
        "model": "a-model",
        "messages": [{"role": role, "content": content} for role, content in turns],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 33,
        "seed": 5,
    }


def test_complete_without_requests_sends_nothing(serve: Callable[..., Loopback]) -> None:
    server = serve()
    assert OpenAIChatModel().complete([]) == []
    assert server.attempts() == []


@pytest.mark.parametrize("fault", ["busy", "error", "cut", "half", "slow", "garbage", "shape"])
def test_complete_retries_after_a_fault(serve: Callable[..., Loopback], fault: str) -> None:
    server = serve("--faults", fault)
    requests = [make_request(f"question {index}") for index in range(4)]
    answers = OpenAIChatModel(timeout=1.0 if fault == "slow" else 30.0).complete(requests)
    assert [answer.text for answer in answers] == [f"QUESTION {index}" for index in range(4)]
    assert Counter(entry["did"] for entry in server.attempts()) == {fault: 4, "answer": 4}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("busy", "the server returned 429"),
        ("error", "the server returned 500"),
        ("cut", "the connection failed"),
        ("half", "the connection failed"),
        ("slow", "it took longer than 0.2 s"),
        ("garbage", "the reply is not a chat completion (Expected JSON"),
        ("shape", "the reply is not a chat completion (Expected a chat completion)"),
    ],
)
def test_complete_persistent_fault_gives_a_status(serve: Callable[..., Loopback], fault: str, reason: str) -> None:
    server = serve("--faults", fault, "--always")
    [answer] = OpenAIChatModel(max_retries=1, timeout=0.2 if fault == "slow" else 30.0).complete([make_request("a")])
    assert answer.status.startswith(f"no answer after 2 attempts: {reason}")
    assert answer[:4] == ("", "", None, None)
    assert len(server.attempts()) == 2


def test_complete_caches_successful_responses_only(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    serve("--faults", "error", "--always", "--share", "0.5")
    cache = ResponseCache(tmp_path / "responses.sqlite")
    answers = OpenAIChatModel(max_retries=0, concurrency=50, cache=cache).complete(
        [make_request(f"q {i}") for i in range(40)]
    )
    right = [answer.text == f"Q {i}" and answer.status == "ok" for i, answer in enumerate(answers)]
    assert 0 < sum(right) == len(cache) < 40  # failures are not cached
    assert all(answer.status.startswith("no answer") for answer, ok in zip(answers, right, strict=True) if not ok)


def test_complete_without_a_server_stops_after_consecutive_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    _set_environment(monkeypatch, f"http://127.0.0.1:{port}/v1")
    model = OpenAIChatModel(max_retries=1, concurrency=4)
    statuses = [answer.status for answer in model.complete([make_request(str(i)) for i in range(200)])]
    tried = [status for status in statuses if status.startswith("no answer after 2 attempts: the connection failed")]
    assert 4 <= len(tried) < 8  # then the job stops
    assert all(status.startswith("not sent: ") for status in statuses[len(tried) :])
    assert "requests in a row had no answer" in statuses[-1]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (401, "the server does not accept OPENAI_API_KEY"),
        (403, "the server does not allow this with OPENAI_API_KEY"),
        (404, "the server has no such address or model (OPENAI_BASE_URL, OPENAI_MODEL)"),
    ],
)
def test_complete_fatal_status_stops_the_job(serve: Callable[..., Loopback], code: int, reason: str) -> None:
    server = serve("--code", str(code))
    answers = OpenAIChatModel(concurrency=2).complete([make_request(str(i)) for i in range(100)])
    assert len(answers) == 100
    assert answers[0].status == f"refused ({code}): {reason}"
    assert answers[-1].status == f"not sent: {reason}"
    assert len(server.attempts()) <= 2


def test_complete_refusal_of_one_request_does_not_stop_the_job(serve: Callable[..., Loopback]) -> None:
    server = serve("--code", "400")
    answers = OpenAIChatModel().complete([make_request(f"{KEY} {server.url} {i}") for i in range(40)])
    assert {answer.status for answer in answers} == {f"refused (400): This is refused: *** *** {i}" for i in range(40)}
    assert len(server.attempts()) == 40


def test_refusal_with_escape_sequences_is_plain_text(serve: Callable[..., Loopback]) -> None:
    serve("--code", "400")
    [answer] = OpenAIChatModel().complete([make_request("a\x1b[31mb\x1b]0;title\x07c\u202ed")])
    assert answer.status == "refused (400): This is refused: abcd"


def test_complete_does_not_follow_redirects(serve: Callable[..., Loopback]) -> None:
    server = serve("--code", "307")
    [answer] = OpenAIChatModel().complete([make_request("a")])
    assert answer.status.startswith("refused (307)")
    assert len(server.attempts()) == 1


def test_complete_respects_concurrency(serve: Callable[..., Loopback]) -> None:
    server = serve("--delay", "0.02")
    OpenAIChatModel(concurrency=3).complete([make_request(str(i)) for i in range(30)])
    assert max(entry["open"] for entry in server.attempts()) == 3


# --- budget


@pytest.mark.parametrize("options", [(), ("--no-usage",), ("--faults", "cut", "busy", "--share", "0.5")])
def test_complete_never_exceeds_the_budget(serve: Callable[..., Loopback], options: tuple[str, ...]) -> None:
    server = serve(*options)
    requests = [make_request(f"number {i:03}") for i in range(100)]
    bound = max_token_bound(requests[0])
    limit = 20 * bound
    model = OpenAIChatModel(budget=limit, concurrency=8)
    answers = model.complete(requests)
    good = [answer for answer in answers if answer.status == "ok"]
    assert 10 < len(good) <= 100
    assert all(answer.status.startswith("not sent: the budget is used up") for answer in answers if answer not in good)
    assert model.budget.spent <= limit
    assert model.budget.reserved == 0
    if not options:
        assert len(good) == 100  # each took 4 tokens, although `bound` had to be reserved
        assert model.budget.spent == 400
    if options == ("--no-usage",):
        assert len(good) == 20  # an unknown cost counts in full
        assert len(server.attempts()) == 20


def test_complete_skips_a_request_above_the_budget(serve: Callable[..., Loopback]) -> None:
    server = serve()
    long, short = make_request("x" * 500), make_request("y")
    answers = OpenAIChatModel(budget=200).complete([long, short])
    assert answers[0].status.startswith("not sent: the budget is used up (")
    assert answers[1].text == "Y"
    assert len(server.attempts()) == 1


# --- cache and resume


def test_complete_does_not_resend_cached_requests(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve()
    path = tmp_path / "cache" / "responses.sqlite"
    first = OpenAIChatModel(cache=ResponseCache(path)).complete([make_request("a"), make_request("b")])
    model = OpenAIChatModel(cache=ResponseCache(path))
    second = model.complete([make_request("c"), make_request("b"), make_request("a")])
    assert second == [ChatResponse("C", "stop", 1, 1, "ok"), first[1], first[0]]
    assert server.answered() == {"a": 1, "b": 1, "c": 1}
    assert model.budget.spent == 2  # cached responses cost nothing


def test_complete_changed_setting_is_not_a_cache_hit(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "responses.sqlite"))
    for settings in ({}, {"seed": 1}, {"temperature": 0.5}, {"top_p": 0.5}, {"max_tokens": 5}):
        model.complete([make_request("a", **settings)])
    model.complete([ChatRequest((Message("system", "s"), Message("user", "a")), max_tokens=16)])
    assert server.answered() == {"a": 6}


def test_complete_changed_model_is_not_a_cache_hit(
    serve: Callable[..., Loopback], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "responses.sqlite"))
    model.complete([make_request("a")])
    monkeypatch.setenv("OPENAI_MODEL", "another")
    model.complete([make_request("a")])
    assert server.answered() == {"a": 2}


NUMBER = 160
"""Requests of a job."""


def run_job(url: str, path: Path) -> None:
    """Run a job in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        _set_environment(patch, url)
        model = OpenAIChatModel(concurrency=16, cache=ResponseCache(path))
        model.complete([make_request(f"question {i}") for i in range(NUMBER)])


@pytest.mark.parametrize("idempotent", [False, True])
def test_killed_job_resumes_without_resending_cached_requests(
    serve: Callable[..., Loopback], processes: ForkServerContext, tmp_path: Path, idempotent: bool
) -> None:
    options = ["--idempotent"] if idempotent else []
    server = serve("--faults", "busy", "error", "cut", "--share", "0.1", "--delay", "0.1", *options)
    path = tmp_path / "responses.sqlite"
    process = processes.Process(target=run_job, args=(server.url, path))
    process.start()
    deadline = time.monotonic() + 200
    while sum(server.answered().values()) < 60:
        assert time.monotonic() < deadline
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    cached = len(ResponseCache(path))
    assert 20 < cached < NUMBER
    before = server.answered()
    model = OpenAIChatModel(concurrency=16, cache=ResponseCache(path))
    unanswered = len(ResponseCache(path).unanswered())
    assert 0 < unanswered <= 16
    with pytest.warns(UserWarning, match=rf"^{unanswered} requests were under way when an earlier run ended"):
        answers = model.complete([make_request(f"question {i}") for i in range(NUMBER)])
    assert [answer.text for answer in answers] == [f"QUESTION {i}" for i in range(NUMBER)]
    every = server.answered()
    lost = sum(every.values()) - NUMBER
    if idempotent:
        assert lost == 0  # no answer is paid twice
    assert lost <= model.lost_answers <= unanswered
    assert ResponseCache(path).unanswered() == set()
    assert len(every) == len(ResponseCache(path)) == NUMBER
    replayed = Counter(entry["did"] for entry in server.attempts())["replay"]
    assert sum((every - before).values()) + replayed == NUMBER - cached  # no cached request is sent again


def test_complete_sends_the_same_idempotency_key_for_the_same_request(serve: Callable[..., Loopback]) -> None:
    server = serve("--faults", "error")
    for settings in ({}, {}, {"seed": 1}, {"max_tokens": 5}):
        OpenAIChatModel().complete([make_request("a", **settings)])
    OpenAIChatModel(max_tokens_field="max_completion_tokens").complete([make_request("a")])
    keys = [entry["idempotency_key"] for entry in server.attempts()]
    assert len(keys) == 6
    assert keys[0] == keys[1] == keys[2]  # the retry after a fault, and another run
    assert len(set(keys)) == 4
    assert all(len(key) == 64 for key in keys)


def test_complete_counts_a_repeated_answer_as_free(serve: Callable[..., Loopback]) -> None:
    serve("--idempotent")
    for spent in (2, 0):
        model = OpenAIChatModel()
        assert model.complete([make_request("a")])[0].text == "A"
        assert model.budget.spent == spent


def test_failed_requests_are_not_counted_as_under_way(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve("--faults", "error", "--always", "--share", "0.5")
    cache = ResponseCache(tmp_path / "responses.sqlite")
    requests = [make_request(f"q {i}") for i in range(20)]
    OpenAIChatModel(max_retries=0, concurrency=30, cache=cache).complete(requests)
    assert cache.unanswered() == set()
    model = OpenAIChatModel(max_retries=0, concurrency=30, cache=cache)
    model.complete(requests)
    assert model.lost_answers == 0
    assert set(server.answered().values()) == {1}


LOGGED_JOB = """
import logging
from radreward.llm import OpenAIChatModel
from radreward.llm.messages import ChatRequest, Message
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("openai._base_client").setLevel(logging.DEBUG)
print(OpenAIChatModel().complete([ChatRequest((Message("user", "secret report"),), max_tokens=16)])[0].status)
"""


def test_openai_log_prints_neither_reports_nor_keys(
    serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("--faults", "error")
    monkeypatch.setenv("OPENAI_LOG", "debug")
    job = subprocess.run([sys.executable, "-c", LOGGED_JOB], cwd=ROOT, capture_output=True, text=True, check=True)
    assert job.stdout == "ok\n"
    for secret in ("secret report", "SECRET REPORT", KEY, server.url):
        assert secret not in job.stderr


def test_complete_many_requests_with_faults_loses_and_repeats_none(serve: Callable[..., Loopback]) -> None:
    server = serve("--faults", "busy", "error", "cut", "half", "garbage", "shape", "--share", "0.1")
    answers = OpenAIChatModel(concurrency=16).complete([make_request(f"question {i}") for i in range(200)])
    assert [answer.text for answer in answers] == [f"QUESTION {i}" for i in range(200)]  # none lost, in order
    assert set(server.answered().values()) == {1}  # none repeated
    assert 12 < sum(entry["did"] != "answer" for entry in server.attempts()) < 32


# --- consent and secrecy


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
def test_is_loopback_recognizes_this_machine_only(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_complete_remote_server_requires_allow_remote(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_environment(monkeypatch, "https://chat.invalid/v1")
    with pytest.raises(InputError, match="OPENAI_BASE_URL is not on this machine: Expected `allow_remote`") as error:
        OpenAIChatModel().complete([make_request("a")])
    assert "chat.invalid" not in str(error.value)


@pytest.mark.parametrize(("scheme", "plain"), [("https", False), ("http", True)])
def test_generate_remote_server_warns(monkeypatch: pytest.MonkeyPatch, scheme: str, plain: bool) -> None:
    _set_environment(monkeypatch, f"{scheme}://chat.invalid/v1")
    model = OpenAIChatModel(allow_remote=True)
    sent: list[int] = []

    def run(job: Coroutine[Any, Any, None]) -> None:
        job.close()
        sent.append(1)

    monkeypatch.setattr(asyncio, "run", run)
    with pytest.warns(UserWarning, match="2 requests, which contain complete reports") as caught:
        model._generate([make_request("a"), make_request("b")], lambda index, answer: None)
    assert ("unencrypted" in str(caught[0].message)) is plain
    assert sent == [1]


def test_complete_local_server_needs_no_consent_and_no_key(
    serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # unusable, and ignored
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OpenAIChatModel(max_retries=0).complete([make_request("a")])[0].text == "A"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OPENAI_BASE_URL", "", "Expected the environment variable OPENAI_BASE_URL"),
        ("OPENAI_MODEL", " ", "Expected the environment variable OPENAI_MODEL"),
        ("OPENAI_API_KEY", "", "Expected the environment variable OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "schlüssel", "OPENAI_API_KEY: Expected ASCII characters"),
        ("OPENAI_BASE_URL", "127.0.0.1:80", "OPENAI_BASE_URL: Expected an address"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:99999/v1", "OPENAI_BASE_URL: Expected an address"),
        ("OPENAI_BASE_URL", "http://[::1/v1", "OPENAI_BASE_URL: Expected an address"),
        ("OPENAI_BASE_URL", "https://me:secret@chat.invalid/v1", "without user name and password. Put the key into"),
        ("OPENAI_BASE_URL", "https://@chat.invalid/v1", "without user name and password"),
    ],
)
def test_complete_invalid_environment_raises(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    _set_environment(monkeypatch, "https://chat.invalid/v1")
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message) as error:
        OpenAIChatModel(allow_remote=True).complete([make_request("a")])
    assert "secret" not in str(error.value)


def test_complete_does_not_log_or_store_key_address_and_reports(
    serve: Callable[..., Loopback], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve("--faults", "error", "busy", "cut")
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    path = tmp_path / "responses.sqlite"
    model = OpenAIChatModel(cache=ResponseCache(path))
    answers = model.complete([make_request(f"secret report {i}") for i in range(6)])
    assert {answer.status for answer in answers} == {"ok"}
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("responses.sqlite*"))
    shown = caplog.text + repr(vars(model)) + repr(model)
    for secret in (KEY, server.url, "secret report"):
        assert secret not in shown
        assert secret.encode() not in stored
    assert b"SECRET REPORT 5" in stored  # only the responses
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("responses.sqlite*"))


def test_complete_works_inside_a_running_event_loop(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    serve()
    model = OpenAIChatModel(cache=ResponseCache(tmp_path / "responses.sqlite"))

    async def notebook() -> list[ChatResponse]:
        return model.complete([make_request("a")])

    assert asyncio.run(notebook())[0].text == "A"


def test_complete_does_not_send_unpaired_surrogates(serve: Callable[..., Loopback]) -> None:
    server = serve()
    answers = OpenAIChatModel().complete([make_request("\ud800"), make_request("b")])
    assert answers[0].status == "not sent: Expected message 1 to be Unicode text"
    assert answers[1].text == "B"
    assert len(server.attempts()) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "Expected `concurrency` to be >= 1"),
        ({"max_retries": -1}, "Expected `max_retries` to be >= 0"),
        ({"timeout": 0}, "Expected `timeout` to be > 0"),
        ({"timeout": float("nan")}, "Expected `timeout` to be > 0"),
        ({"budget": -1}, "Expected `limit` to be >= 0"),
    ],
)
def test_constructor_invalid_setting_raises(settings: dict[str, Any], message: str) -> None:
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
def test_parse_response_returns_or_raises_value_error_for_any_reply(reply: bytes) -> None:
    try:
        answer = parse_response(reply)
    except ValueError:
        return
    assert bool(answer.text) == (answer.status == "ok")


def test_parse_response_without_text_has_a_status() -> None:
    reply = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}], "usage": None}
    assert parse_response(json.dumps(reply).encode()).status == "no text (content_filter)"


def test_parse_response_replaces_unpaired_surrogates() -> None:
    reply = b'{"choices": [{"message": {"content": "a\\ud800 \\ud83d\\ude00"}}]}'
    assert parse_response(reply).text == "a\ufffd \U0001f600"


def test_parse_response_deep_json_raises() -> None:
    with pytest.raises(ValueError, match="nested too deep|expected"):
        parse_response(b"[" * 1_000_000)


def test_complete_honours_retry_after(serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    serve("--faults", "busy")  # requests a delay of 0.05 s
    waits: list[float] = []

    async def record(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("anyio.sleep", record)
    OpenAIChatModel().complete([make_request("a")])
    assert waits == [0.05]


def test_constructor_accepts_address_and_model(serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    _set_environment(monkeypatch, "http://127.0.0.1:9/v1")
    model = OpenAIChatModel("another", server.url)
    assert [answer.status for answer in model.complete([make_request("a")])] == ["ok"]
    assert server.attempts()[0]["body"]["model"] == "another"
    assert "another" in model.model_id


def test_complete_sends_the_configured_max_tokens_field(serve: Callable[..., Loopback]) -> None:
    server = serve()
    OpenAIChatModel(max_tokens_field="max_completion_tokens").complete([make_request("a")])
    assert server.attempts()[0]["body"]["max_completion_tokens"] == 16
    assert "max_tokens" not in server.attempts()[0]["body"]


@pytest.mark.parametrize(
    ("message", "stops"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use another.", True),
        ("[{'type': 'extra_forbidden', 'loc': ('max_tokens',), 'msg': 'Extra inputs are not permitted'}]", True),
        ("Unrecognized request argument supplied: max_tokens", True),
        ("max_tokens is too large: 99999. This model supports at most 4096 completion tokens.", False),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", False),
    ],
)
def test_complete_unsupported_max_tokens_field_stops_the_job(
    serve: Callable[..., Loopback], message: str, stops: bool
) -> None:
    server = serve("--code", "400")  # the refusal quotes the request
    answers = OpenAIChatModel(concurrency=1).complete([make_request(message), make_request("b")])
    assert len(server.attempts()) == (1 if stops else 2)
    if stops:
        reason = "the server does not accept max_tokens; set max_tokens_field to max_completion_tokens"
        assert answers[0].status == f"refused (400): {reason}"
        assert answers[1].status == f"not sent: {reason}"
    else:
        assert answers[0].status.startswith("refused (400): This is refused")


def test_complete_unsupported_max_completion_tokens_field_names_the_other(serve: Callable[..., Loopback]) -> None:
    serve("--code", "422")
    [answer] = OpenAIChatModel(max_tokens_field="max_completion_tokens").complete(
        [make_request("Unknown field: max_completion_tokens")]
    )
    assert answer.status.endswith("set max_tokens_field to max_tokens")
