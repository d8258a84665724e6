"""The server chat model against `transformers serve` with a tiny model."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from radreward.llm import LocalChatModel, OpenAIChatModel, ResponseCache
from radreward.llm.messages import ChatRequest, Message


def make_request(text: str, max_tokens: int = 12) -> ChatRequest:
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), max_tokens=max_tokens)


@pytest.fixture(scope="module")
def url(tiny_folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(tiny_folder), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        for _ in range(1200):
            if process.poll() is not None:
                out, _ = process.communicate()
                pytest.fail(f"transformers serve ended: {out.decode()[-2000:]}")
            if _healthy(port):
                break
            time.sleep(0.1)
        else:
            pytest.fail("transformers serve did not start in two minutes")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@pytest.fixture(autouse=True)
def environment(url: str, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_MODEL", str(tiny_folder))
    monkeypatch.setenv("OPENAI_API_KEY", "not-needed")


def test_server_and_local_model_give_equal_responses(tiny_folder: Path, tmp_path: Path) -> None:
    requests = [make_request(f"question {index}", max_tokens=4 + index) for index in range(6)]
    model = OpenAIChatModel(concurrency=3, cache=ResponseCache(tmp_path / "responses.sqlite"))
    answers = model.complete(requests)
    local = LocalChatModel(str(tiny_folder), batch_size=4).complete(requests)
    assert [answer.status for answer in answers] == ["ok"] * 6
    for served, computed in zip(answers, local, strict=True):
        # Both are greedy with the same template; invalid UTF-8 may be decoded differently.
        assert (served.prompt_tokens, served.finish_reason) == (computed.prompt_tokens, computed.finish_reason)
        assert served.text.strip("\ufffd") == computed.text.strip("\ufffd")
    assert model.budget.spent > 0
    assert OpenAIChatModel(cache=ResponseCache(tmp_path / "responses.sqlite")).complete(requests) == answers


def test_complete_unknown_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "another")
    [answer] = OpenAIChatModel(max_retries=0).complete([make_request("a")])
    assert answer.status.startswith("refused (400): ")
