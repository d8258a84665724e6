"""Connections of a real server with short deadlines: half-sent headers, clients that do not read, limits."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from threading import Thread

import pytest
import uvicorn

from radreward.scorers.custom import CustomScorer
from radreward.serving.app import create_app
from radreward.serving.limits import ServiceLimits
from radreward.serving.server import listen, server_config

LIMITS = ServiceLimits(max_connections=4, header_seconds=0.5)


def length(reference: str, candidate: str) -> float:
    return float(len(candidate))


@pytest.fixture
def port() -> Iterator[int]:
    """Return the port of a server in a thread of this process."""
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(server_config(create_app({"length": CustomScorer(length)}, LIMITS), LIMITS))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def sending(port: int, data: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(data)
        yield client


def received(client: socket.socket) -> bytes:
    """Return all that the server sends until it closes the connection."""
    try:
        return b"".join(iter(lambda: client.recv(65536), b""))
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("data", [b"", b"GET /health HTTP/1.1\r\nHost: loc"])
def test_connection_without_complete_headers_is_closed(port: int, data: bytes) -> None:
    with sending(port, data) as client:
        assert received(client) == b""


def test_half_sent_headers_after_an_answer_are_closed(port: int) -> None:
    with sending(port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n") as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        assert b"HTTP" not in received(client)


def check_usable(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()


def test_300_half_sent_headers_end_and_the_service_is_usable(port: int) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(sending(port, b"GET /health HTTP/1.1\r\nHost: loc")) for _ in range(300)]
        assert all(b"200 OK" not in received(client) for client in clients)  # each ends: it is refused or too slow
        check_usable(port)


def test_connection_over_the_limit_is_refused(port: int) -> None:
    with ExitStack() as stack:
        for _ in range(LIMITS.max_connections):
            stack.enter_context(sending(port, b""))
        head, _, body = received(stack.enter_context(sending(port, b""))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body) == {"error": "Expected fewer connections. Try again in 5 s."}


def test_client_that_does_not_read_its_answers_is_disconnected(port: int) -> None:
    requests = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000_000  # their answers fill every buffer
    with sending(port, b"") as client, pytest.raises(ConnectionError):
        client.sendall(requests)
    check_usable(port)
