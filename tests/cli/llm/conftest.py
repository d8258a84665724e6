"""Chat servers on the loopback interface whose replies are computed by a function, and a small local model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soak._commands import save_language_model

Reply = Callable[[list[dict[str, str]], int], str]


class ChatServer(NamedTuple):
    """A running server and the requests it received."""

    url: str
    requests: list[dict[str, Any]]


@pytest.fixture
def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Reply], ChatServer]]:
    """Return a function that starts a server; replies depend on the messages and the number of the request."""
    running: list[ThreadingHTTPServer] = []

    def start(reply: Reply) -> ChatServer:
        requests: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                requests.append(body)
                text = reply(body["messages"], len(requests))
                answer = {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": body["model"],
                    "choices": [
                        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                    ],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
                }
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        for name, value in (("OPENAI_BASE_URL", url), ("OPENAI_MODEL", "a-model"), ("OPENAI_API_KEY", "a-key")):
            monkeypatch.setenv(name, value)
        return ChatServer(url, requests)

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def local_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a one-layer Llama with random weights and a byte tokenizer."""
    return save_language_model(tmp_path_factory.mktemp("tiny-writer"))
