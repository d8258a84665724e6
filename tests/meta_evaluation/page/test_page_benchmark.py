"""The benchmark of the page, in small."""

import json
from pathlib import Path

import pytest

from benchmarks import page_render as page


def test_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    page.main([page.Case(cases=6, scorers=4)], rounds=1)
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (found["pairs"], found["scorers"]) == (24, 4)
    assert 0 < found["ready"] < found["usable"]
    assert 50_000 < found["bytes"] < page.BYTES
    assert found["elements"] > 500


def test_a_missing_browser_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(
            FileNotFoundError, match="chromium and chromedriver: apt-get install -y chromium chromium-driver"
        ),
        page.chromium(),
    ):
        pass
