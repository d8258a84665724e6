"""Names, paths, statuses and errors with markup or control characters: every command prints them as text."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups, write_groups
from radreward.synthesis import synthesize_files
from tests.tuning.finished_runs import make_run

__all__ = ["make_run"]  # a fixture

MARKUP = "[b] [red]x[/red] [bold [link=y]"
FOLDER = f"{MARKUP} \x1b[31m\x07\u202e:smile:"
"""A name of a folder; a slash is not possible in it."""
PRINTED = f"{MARKUP.replace('/', '')} :smile:"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
SCORER = '''
"""A metric of the user."""

Failure = type("Wrong[/b]\\x1b[2JError", (Exception,), {})


def fails(reference: str, candidate: str) -> float:
    raise Failure("[/b] [red]no\\x1b[31m")


def length(reference: str, candidate: str) -> float:
    return float(len(candidate))
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / FOLDER.replace("/", "")
    path.mkdir()
    (path / "metric.py").write_text(SCORER)
    return path


def _run(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """Run a command and return what it printed, without line breaks."""
    capsys.readouterr()
    status = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert status == code, printed
    assert not CONTROL.search(printed)
    return " ".join(printed.split())


def test_score_and_list_print_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": f"a{MARKUP}\x1b[2J", "reference": "Clear.", "candidate": text} for text in ("Clear.", "")]
    source = folder / "pairs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    printed = _run(capsys, 1, "score", f"--input={source}", f"--output={folder / 'a.csv'}", "--scorers=bleu-1")
    assert PRINTED in printed
    assert "Rejected: 1 of 2 rows" in printed
    absent = _run(capsys, 2, "score", f"--input={folder / 'absent.jsonl'}", f"--output={folder / 'a.csv'}")
    assert PRINTED in absent
    assert "er2score" in _run(capsys, 0, "list")


def test_evaluate_prints_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = synthesize_files(folder / "data", RadCliQCriteria(), 3)
    first, *others = read_groups(data)
    damaged = first.candidates[0]._replace(text="\ufffd\x1b[2J [/b]")
    groups = [first._replace(id=f"{MARKUP}\x1b[2J", candidates=(damaged, *first.candidates[1:])), *others]
    write_groups(folder / "groups.jsonl", groups)
    command = ["evaluate", "--criteria=radcliq", f"--data={folder / 'groups.jsonl'}"]
    assert "τ-b" in _run(capsys, 0, *command, f"--scorer={folder / 'metric.py'}:length")
    assert "none[/b]" in _run(capsys, 2, *command, f"--scorer={folder / 'metric.py'}:none[/b]")


def test_benchmark_prints_text_and_keeps_the_results_of_other_metrics(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = folder / "pairs.jsonl"
    groups = synthesize_files(folder / "data", RadCliQCriteria(), 6)
    assert _run(capsys, 0, "convert", "--from=groups", f"--input={groups}", f"--output={pairs}")
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["system"] = f"{number % 2}[/b]\x1b[2J"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scorers = [f"{folder / 'metric.py'}:{name}" for name in ("length", "fails")]
    command = ["benchmark", f"--data={pairs}", f"--output={folder / 'out'}", "--bootstrap=20", "--scorers", *scorers]
    assert "[/b]" in _run(capsys, 1, *command)
    assert (folder / "out" / "page.html").is_file()
    markdown = (folder / "out" / "table.md").read_text(encoding="utf-8")
    assert not CONTROL.search(markdown)
    assert "\\[/b\\]" in markdown


def test_compare_prints_text(make_run: Callable[..., Path], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs: list[Any] = [make_run(f"run{seed}", seed, 1.0, lambda_=MARKUP, note="\x1b[2J") for seed in (0, 1)]
    printed = _run(capsys, 0, "compare", *runs, f"--output={folder / 'out'}")
    assert PRINTED in printed
