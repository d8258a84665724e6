"""A running service: `radreward serve` in a process of its own, and requests to it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

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
    """A process that serves."""

    process: subprocess.Popen[str]
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


@contextmanager
def serving(folder: Path, models: Sequence[str], *options: str) -> Iterator[Service]:
    """Yield a service that logs to a file in a folder."""
    command = [sys.executable, "-m", "radreward", "serve", "--port", "0", "--scorers", *models, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        try:
            assert process.stdout
            line = process.stdout.readline()  # printed once the models are loaded
            match = re.search(r":(\d+)$", line.strip())
            assert match, (line, (folder / "service.log").read_text())
            yield Service(process, int(match[1]))
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
def small_service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Return a function that starts a service with one fast metric."""
    (tmp_path / "metrics.py").write_text(METRICS)
    running = []

    def start(*options: str) -> Service:
        context = serving(tmp_path, ["metrics.py:words"], *options)
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)
