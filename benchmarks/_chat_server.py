"""A local chat server that echoes requests and fails on purpose, for tests and benchmarks.

`python benchmarks/_chat_server.py LOG [options]` prints its address, then writes every attempt to LOG as a JSON line.
It uses only the standard library, so that its faults are its own.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import socket
from pathlib import Path
from typing import Any, TextIO

FAULTS = ("busy", "error", "cut", "half", "slow", "garbage", "shape")


class Server:
    """Server that answers `POST /v1/chat/completions` with the last message in capitals.

    Args:
        log: Log of the attempts.
        faults: Types of faults, selected by the hash of a text.
        share: Fraction of requests whose first attempt fails, selected by the hash of their text.
        always: Fail at every attempt.
        delay: Seconds before an answer.
        code: Refuse all requests with this status.
        usage: Report one token per word in answers.
        idempotent: Answer requests with the same `Idempotency-Key` once, and repeat the answer.
    """

    def __init__(
        self,
        log: TextIO,
        faults: list[str],
        share: float,
        always: bool,
        delay: float,
        code: int | None,
        usage: bool,
        idempotent: bool,
    ) -> None:
        self.log, self.faults, self.share, self.always = log, faults, share, always
        self.delay, self.code, self.usage = delay, code, usage
        self.attempts: dict[str, int] = {}
        self.idempotent, self.answered_keys = idempotent, set[str]()
        self.open = 0

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        try:
            while await self._request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
        text = body["messages"][-1]["content"]
        self.open += 1
        action, key = self._choose_action(text), headers.get("idempotency-key", "")
        if self.idempotent and action == "answer":
            action = "replay" if key in self.answered_keys else action
            self.answered_keys.add(key)
        entry = {"text": text, "did": action, "open": self.open, "key": headers.get("authorization", ""), "body": body}
        entry["idempotency_key"] = key
        self.log.write(json.dumps(entry) + "\n")
        self.log.flush()
        try:
            return await self._act(action, text, body, writer)
        finally:
            self.open -= 1

    def _choose_action(self, text: str) -> str:
        if self.code is not None:
            return "refuse"
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        attempt = self.attempts[text] = self.attempts.get(text, 0) + 1
        if self.faults and digest % 10_000 < self.share * 10_000 and (self.always or attempt == 1):
            return self.faults[digest // 10_000 % len(self.faults)]
        return "answer"

    async def _act(self, action: str, text: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        if action == "refuse":
            message = f"This is refused: {text}"
            return await _reply(writer, self.code or 0, json.dumps({"error": {"message": message}}), "location: /v2")
        if action == "busy":
            return await _reply(writer, 429, '{"error": {"message": "Slower."}}', "retry-after: 0.05")
        if action == "error":
            return await _reply(writer, 500, "<html>no</html>")
        if action == "cut":
            return False
        if action == "half":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
            await writer.drain()
            return False
        if action == "garbage":
            return await _reply(writer, 200, '{"choices": [{"mess')
        if action == "shape":
            return await _reply(writer, 200, '{"choices": []}')
        await asyncio.sleep(3600 if action == "slow" else self.delay)
        answer: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text.upper()}}
            ],
        }
        if self.usage:
            words = len(text.split())
            answer["usage"] = {"prompt_tokens": words, "completion_tokens": words, "total_tokens": 2 * words}
        replayed = "idempotent-replayed: true" if action == "replay" else "x-none: 1"
        return await _reply(writer, 200, json.dumps(answer), replayed)


async def _reply(writer: asyncio.StreamWriter, code: int, body: str, header: str = "x-none: 1") -> bool:
    data = body.encode()
    head = f"HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n{header}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()
    return True


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--faults", nargs="*", default=[], choices=FAULTS)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--always", action="store_true")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--code", type=int)
    parser.add_argument("--no-usage", action="store_true")
    parser.add_argument("--idempotent", action="store_true")
    options = parser.parse_args()
    with options.log.open("w") as log:
        server = Server(
            log,
            options.faults,
            options.share,
            options.always,
            options.delay,
            options.code,
            not options.no_usage,
            options.idempotent,
        )
        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        running = await asyncio.start_server(server.connection, sock=listening, limit=2**26)
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        async with running:
            await running.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
