"""The benchmark of the page at a small size."""

import json
from pathlib import Path

import pytest

from benchmarks import page_render


def test_page_benchmark_measures_a_small_page(capsys: pytest.CaptureFixture[str]) -> None:
    page_render.main([page_render.Case(cases=6, scorers=4)], rounds=1)
    result = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (result["pairs"], result["scorers"]) == (24, 4)
    assert 0 < result["ready"] < result["usable"]
    assert 50_000 < result["bytes"] < page_render.BYTES
    assert result["elements"] > 500


def test_chromium_missing_browser_names_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(
            FileNotFoundError, match="chromium and chromedriver: apt-get install -y chromium chromium-driver"
        ),
        page_render.chromium(),
    ):
        pass
