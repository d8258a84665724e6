import re

import pytest

from radreward.io.progress import ProgressReporter


def test_lines_show_output_speed_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(interval=0.0) as progress:
        task = progress.add_task("Scoring", 1000, completed=200, note="into out.csv")
        progress.advance(task, 300)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "Scoring: 200 of 1000 rows, into out.csv"
    assert re.fullmatch(r"Scoring: 500 of 1000 rows, [\d.e+]+ rows/s, 0 s left", second)


def test_lines_appear_once_per_interval_and_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(interval=60.0) as progress:
        first = progress.add_task("bleu", 3, unit="pairs", note="started")
        second = progress.add_task("rouge", 3, unit="pairs")
        for _ in range(3):
            progress.advance(first)
        progress.advance(second)
    lines = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["bleu: 0 of 3 pairs", "bleu: 3 of 3 pairs", "rouge: 1 of 3 pairs"]


def test_lines_of_an_unknown_total_count_without_a_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(interval=0.0) as progress:
        task = progress.add_task("Reading a.jsonl", unit="records", note="before the first step")
        progress.advance(task)
        progress.advance(task)
    first, *counted = capsys.readouterr().err.splitlines()
    assert first == "Reading a.jsonl: before the first step"
    assert [line.rsplit(" ", 2)[0] for line in counted] == [f"Reading a.jsonl: {n} records," for n in (1, 2)]


def test_tracked_values_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(ProgressReporter(interval=0.0).track("ab", "Fitting", 2, "folds")) == ["a", "b"]
    lines = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["Fitting: 1 of 2 folds", "Fitting: 2 of 2 folds"]


def test_task_without_units_states_no_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(interval=0.0) as progress:
        progress.advance(progress.add_task("Scoring", 0, unit="pairs"), 0)
    assert capsys.readouterr().err == "Scoring: nothing to do\n"


def test_disabled_reporter_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressReporter(enabled=False, interval=0.0) as progress:
        progress.advance(progress.add_task("Scoring", 10, note="into out.csv"), 10)
    assert capsys.readouterr().err == ""


def test_terminal_shows_a_bar_instead_of_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    with ProgressReporter(interval=0.0) as progress:
        progress.advance(progress.add_task("Scoring", 10, note="into out.csv"), 10)
        label = progress.add_task("Bootstrap")
        progress.describe(label, "Page")
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "Page" in shown
    assert "into out.csv" not in shown
