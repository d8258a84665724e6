"""Rewards of a running service."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
import torch

from radreward import load
from radreward.errors import InputError
from radreward.integrations.remote import RemoteScorer
from radreward.integrations.trl import trl_criterion_rewards, trl_reward
from radreward.scorers.base import Scorer
from tests.integrations.running_service import served

TEXTS = ["No edema.", "Small left effusion.", "", "Right pneumothorax.", "I cannot help.", "Rib fracture.", "No edema."]
REFERENCES = ["Small left effusion. No edema."] * len(TEXTS)


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return load("ratescore", device="cpu")


@pytest.fixture(scope="module")
def url(scorer: Scorer) -> Iterator[str]:
    """Return the address of a service of one metric, which takes three pairs per request."""
    with served({"ratescore": scorer}, 3) as address:
        yield address


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Return a function that starts a server with these statuses, one per request, and returns its address."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    servers = []

    def start(*answers: tuple[int, dict[str, str], Any]) -> str:
        left = list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = left.pop(0)
                if status == 0:
                    self.connection.close()
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    start.waits = waits  # type: ignore[attr-defined]
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_scores_are_those_of_the_scorer_in_order(url: str, scorer: Scorer) -> None:
    remote_scorer = RemoteScorer(url)
    got, expected = remote_scorer.score(REFERENCES, TEXTS), scorer.score(REFERENCES, TEXTS)
    assert got.status == expected.status
    for name in ("total", "quality", "sub_scores"):
        torch.testing.assert_close(getattr(got, name), getattr(expected, name), atol=1e-5, rtol=0, equal_nan=True)
    assert got.sub_names == scorer.sub_names
    assert remote_scorer.title == scorer.title


@pytest.mark.parametrize("name", [None, "ratescore"])
def test_rewards_are_those_of_the_local_metric(
    url: str, scorer: Scorer, name: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    local = trl_reward(scorer, missing_reward=-1.0)(prompts=TEXTS, completions=TEXTS, reference=REFERENCES)
    with caplog.at_level(logging.WARNING):
        reward = trl_reward(name, url=url, missing_reward=-1.0)
        assert reward(prompts=TEXTS, completions=TEXTS, reference=REFERENCES) == pytest.approx(local, abs=1e-5)
    assert "completions have no score" in caplog.text
    waiting = trl_reward(name, url=url, missing_reward=-1.0, asynchronous=True)

    async def both() -> list[Any]:
        columns = {"prompts": TEXTS, "completions": TEXTS, "reference": REFERENCES}
        return list(await asyncio.gather(waiting(**columns), waiting(**columns)))

    assert asyncio.run(both()) == [pytest.approx(local, abs=1e-5)] * 2


def test_criterion_rewards_of_a_remote_scorer_have_its_names(url: str, scorer: Scorer) -> None:
    assert [reward.__name__ for reward in trl_criterion_rewards(RemoteScorer(url))] == list(scorer.sub_names)


def test_busy_service_is_asked_again(scripted: Any) -> None:
    model = {"name": "m", "title": "M", "outputs": ["total"], "total_range": [None, 1], "criteria": None}
    busy = (503, {"Retry-After": "7"}, {"error": "busy"})
    url = scripted((0, {}, None), busy, (429, {}, {}), (200, {}, [{**model, "sub_scores": []}]))
    assert RemoteScorer(url).title == "M"
    assert scripted.waits == [0.5, 7.0, 2.0]


def test_refusal_is_one_line(scripted: Any) -> None:
    url = scripted((422, {}, {"error": "bad\x1b[31m\nfield"}))
    with pytest.raises(InputError, match=r"/models: Expected an answer .* but got status 422: bad\[31mfield$"):
        RemoteScorer(url)
    assert scripted.waits == []


def test_unusable_service_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="Expected a model among ratescore but got 'bleu'"):
        RemoteScorer(url, "bleu")
    with pytest.raises(InputError, match="Expected `allow_remote` to be true"):
        RemoteScorer("http://192.0.2.1:8000")
    with pytest.raises(InputError, match="without user name and password"):
        RemoteScorer("http://me:secret@127.0.0.1")
    with pytest.raises(InputError, match=r"but got none \(ConnectionRefusedError\)"):
        RemoteScorer("http://127.0.0.1:9", max_retries=0)
    with pytest.raises(ValueError, match="Expected `max_retries` >= 0"):
        RemoteScorer(url, max_retries=-1)
    with pytest.raises(ValueError, match="`scorer` or `url`"):
        trl_reward()
