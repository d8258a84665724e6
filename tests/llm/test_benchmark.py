"""The benchmark of the server chat model at a small size."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def chat_client(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "")  # restores what the benchmark sets
    return import_module("benchmarks.chat_client")


def test_main_reports_overhead_and_faults(chat_client: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    figures = chat_client.main(60, rounds=1)
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [result["faults"] > 0 for result in results] == [False, True]
    assert [figure.value for figure in figures] == [result["overhead_ms"] for result in results]
    assert all(result["overhead_ms"] > 0 for result in results)


def test_measure_lost_response_raises(chat_client: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: object, requests: list[object]) -> list[object]:
        return []

    monkeypatch.setattr(chat_client.OpenAIChatModel, "complete", lost)
    with pytest.raises(AssertionError, match="lost or out of order"):
        chat_client.measure(4, 0.0)
