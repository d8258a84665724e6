"""A running service: `radreward serve` in a process of its own, and requests to it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from radreward.cli import main

METRICS = """
import time
from pathlib import Path

from radreward.scorers.base import Scorer

SECONDS = {"slow": 0.5, "quite slow": 0.1}


def words(reference, candidate):
    if candidate in SECONDS:
        with Path("slow.txt").open("a") as file:
            file.write("scored ")
        time.sleep(SECONDS[candidate])
    return float(len(set(reference.split()) & set(candidate.split())))


class Failing(Scorer):
    def _score_valid(self, references, candidates):
        raise RuntimeError(f"secret: {references}")

    def fingerprint(self):
        return ""

    def save_pretrained(self, folder):
        pass
"""
MODELS = ("er2score", "ratescore", "sentence-eval")
PAIR = {"reference": "Small left pleural effusion. No edema.", "candidate": "Large right pleural effusion."}


class Answer(NamedTuple):
    """Status, headers and body of an answer; a body of JSON is parsed."""

    status: int
    headers: dict[str, str]
    body: Any


class Service(NamedTuple):
    """A process that serves, from the fork server or by a command."""

    process: ForkServerProcess | subprocess.Popen[str]
    port: int

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send a request by a real client."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            content = response.read()
            entries = {name.lower(): text for name, text in response.getheaders()}
            is_json = entries.get("content-type", "").startswith("application/json")
            return Answer(response.status, entries, json.loads(content) if is_json else content.decode())
        finally:
            connection.close()

    def score(self, **request: Any) -> Answer:
        """Send a request for scores."""
        return self.request("POST", "/score", json.dumps(request).encode(), Content_Type="application/json")


def printed_port(line: str, folder: Path) -> int:
    """Return the port in the line that a service prints once the models are loaded."""
    match = re.search(r":(\d+)$", line.strip())
    assert match, (line, (folder / "service.log").read_text())
    return int(match[1])


def serve(printed: Connection, folder: Path, arguments: Sequence[str]) -> None:
    """Serve in a process of its own, as by the command."""
    os.chdir(folder)
    os.dup2(printed.fileno(), 1)
    with (folder / "service.log").open("w") as log:
        os.dup2(log.fileno(), 2)
        sys.exit(main(["serve", "--port", "0", *arguments]))


@contextmanager
def forked(processes: ForkServerContext, folder: Path, models: Sequence[str], *options: str) -> Iterator[Service]:
    """Yield a service in a process that has imported everything, which logs to a file in a folder."""
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=serve, args=(sender, folder, ["--scorers", *models, *options]))
    process.start()
    sender.close()
    try:
        with os.fdopen(os.dup(receiver.fileno())) as lines:
            yield Service(process, printed_port(lines.readline(), folder))
    finally:
        receiver.close()
        process.kill()
        process.join()


@contextmanager
def serving(folder: Path, models: Sequence[str], *options: str) -> Iterator[Service]:
    """Yield a service of the command that logs to a file in a folder."""
    command = [sys.executable, "-m", "radreward", "serve", "--port", "0", "--scorers", *models, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        try:
            assert process.stdout
            yield Service(process, printed_port(process.stdout.readline(), folder))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service with the shipped models and a metric that fails."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "metrics.py").write_text(METRICS)
    with serving(folder, [*MODELS, "metrics.py:Failing"], "--max-pairs", "20") as running:
        yield running
        assert running.request("GET", "/health").body == {"status": "ok"}  # it survived all tests
        log = (folder / "service.log").read_text()
    assert "effusion" not in log
    assert "secret" not in log
    assert "Traceback" not in log


@pytest.fixture
def small_service(processes: ForkServerContext, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Return a function that starts a service with one fast metric."""
    (tmp_path / "metrics.py").write_text(METRICS)
    with ExitStack() as running:
        yield lambda *options: running.enter_context(forked(processes, tmp_path, ["metrics.py:words"], *options))
