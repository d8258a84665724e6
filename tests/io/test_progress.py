"""How far a scoring run is, where there is no terminal."""

import re
from pathlib import Path

import pytest

from radreward.io.progress import ProgressReporter


def test_lines_tell_where_the_scores_go_how_many_there_are_and_what_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressReporter(1000, Path("out.csv"), completed=200, interval=0.0) as told:
        told.advance(300)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "scored 200 of 1000 rows: into out.csv"
    assert re.fullmatch(r"scored 500 of 1000 rows: [\d.e+]+ rows/s, 0 min left", second)


def test_nothing_is_told_that_nobody_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(10, Path("out.csv"), enabled=False, interval=0.0) as told:
        told.advance(10)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    with ProgressReporter(10, Path("out.csv"), interval=0.0) as told:
        told.advance(10)
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "into out.csv" not in shown
