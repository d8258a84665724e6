"""Overhead of the server chat model: requests to a local server that fails on purpose.

The server answers at once, in a separate process. The overhead is the CPU time of the client's process per request:
building, sending, parsing, caching and retries. Wall time also includes the server and the waits before retries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks._figures import Figure
from radreward.llm import OpenAIChatModel, ResponseCache
from radreward.llm.messages import ChatRequest, Message

REQUESTS = 2000
CONCURRENCY = 16
FAULTS = ("busy", "error", "cut", "half", "garbage", "shape")
TARGET = 5.0
"""Milliseconds of overhead per request."""
ROUNDS = 3


def measure(requests: int, share: float) -> dict[str, float]:
    """Return milliseconds per request and numbers of attempts of one run.

    Args:
        requests: Number of requests.
        share: Fraction of requests whose first attempt fails.

    Raises:
        AssertionError: If a response is lost, repeated or out of order.
    """
    texts = [f"question {index} about a report of some {index % 90} words" for index in range(requests)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        command = [sys.executable, str(Path(__file__).with_name("_chat_server.py")), str(log), "--share", str(share)]
        with subprocess.Popen([*command, "--faults", *FAULTS], stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own
            try:
                assert server.stdout is not None
                address = {"OPENAI_BASE_URL": server.stdout.readline().strip(), "OPENAI_MODEL": "echo"}
                os.environ.update(address, OPENAI_API_KEY="none")
                cache = ResponseCache(Path(folder) / "responses.sqlite")
                model = OpenAIChatModel(concurrency=CONCURRENCY, cache=cache)
                chat_requests = [ChatRequest((Message("user", text),), max_tokens=64) for text in texts]
                wall, cpu = time.perf_counter(), time.process_time()
                answers = model.complete(chat_requests)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                cache.close()
            finally:
                server.kill()
        attempts = [json.loads(line) for line in log.read_text().splitlines()]
    assert [answer.text for answer in answers] == [text.upper() for text in texts], "a response is lost or out of order"
    answered = Counter(entry["text"] for entry in attempts if entry["did"] == "answer")
    assert answered == Counter(texts), "a request was answered twice"
    return {
        "overhead_ms": 1000 * cpu / requests,
        "wall_ms": 1000 * wall / requests,
        "faults": len(attempts) - requests,
        "attempts": len(attempts),
    }


def main(requests: int = REQUESTS, rounds: int = ROUNDS) -> list[Figure]:
    """Run and print the benchmark; the first run, which loads the packages, is not counted."""
    measured = []
    measure(CONCURRENCY, 0.0)
    for share in (0.0, 0.1):
        runs = [measure(requests, share) for _ in range(rounds)]
        best = min(runs, key=lambda run: run["overhead_ms"])
        print(json.dumps({"requests": requests, "concurrency": CONCURRENCY, "share_of_faults": share, **best}))
        work = f"chat client, {requests:,} requests, {best['faults']:.0f} faults, slowest of {rounds} runs"
        worst = max(run["overhead_ms"] for run in runs)
        measured.append(Figure(work, worst, "ms", "none lost, none repeated, in order", at_most=TARGET))
    return measured
