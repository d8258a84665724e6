import json
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_bootstrap_at_a_tiny_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    bootstrap = import_module("benchmarks.bootstrap")
    bootstrap.main([bootstrap.Case(scorers=3, targets=2, cases=12, per_case=2, draws=20, loop=6)])
    printed = capsys.readouterr().out
    result = json.loads(printed.splitlines()[0])
    assert result["contests"] == 3
    assert result["ratio"] == pytest.approx(result["loop_seconds"] / result["seconds"])
    assert "target 10 s" in printed
