"""A chat server on the loopback that answers with what it was asked, and fails on purpose; for tests and measurements.

`python benchmarks/_chat_server.py LOG [options]` prints its address, then writes every attempt to LOG as a JSON line.
It needs nothing but Python's standard library, so that its faults are its own.
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
    """Answers `POST /v1/chat/completions` with the last message in capitals.

    Args:
        log: Where attempts are written.
        faults: Kinds of failure, taken in turn.
        share: Of requests whose first attempt fails; which, the hash of their text says.
        always: Fail at every attempt.
        delay: Seconds before an answer.
        code: Refuse everything with this status.
        usage: Whether answers say how many tokens they took: as many as they have words.
    """

    def __init__(
        self, log: TextIO, faults: list[str], share: float, always: bool, delay: float, code: int | None, usage: bool
    ) -> None:
        self.log, self.faults, self.share, self.always = log, faults, share, always
        self.delay, self.code, self.usage = delay, code, usage
        self.attempts: dict[str, int] = {}
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
        did = self._what(text)
        entry = {"text": text, "did": did, "open": self.open, "key": headers.get("authorization", ""), "body": body}
        self.log.write(json.dumps(entry) + "\n")
        self.log.flush()
        try:
            return await self._act(did, text, body, writer)
        finally:
            self.open -= 1

    def _what(self, text: str) -> str:
        if self.code is not None:
            return "refuse"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        seen = self.attempts[text] = self.attempts.get(text, 0) + 1
        if self.faults and number % 10_000 < self.share * 10_000 and (self.always or seen == 1):
            return self.faults[number // 10_000 % len(self.faults)]
        return "answer"

    async def _act(self, did: str, text: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        if did == "refuse":
            message = f"This is refused: {text}"
            return await _reply(writer, self.code or 0, json.dumps({"error": {"message": message}}), "location: /v2")
        if did == "busy":
            return await _reply(writer, 429, '{"error": {"message": "Slower."}}', "retry-after: 0.05")
        if did == "error":
            return await _reply(writer, 500, "<html>no</html>")
        if did == "cut":
            return False
        if did == "half":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
            await writer.drain()
            return False
        if did == "garbage":
            return await _reply(writer, 200, '{"choices": [{"mess')
        if did == "shape":
            return await _reply(writer, 200, '{"choices": []}')
        await asyncio.sleep(3600 if did == "slow" else self.delay)
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
        return await _reply(writer, 200, json.dumps(answer))


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
    options = parser.parse_args()
    with options.log.open("w") as log:
        server = Server(
            log, options.faults, options.share, options.always, options.delay, options.code, not options.no_usage
        )
        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        running = await asyncio.start_server(server.connection, sock=listening, limit=2**26)
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        async with running:
            await running.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
