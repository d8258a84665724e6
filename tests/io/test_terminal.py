"""Untrusted text stays text in a terminal: markup is printed literally, control characters are not printed."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from radreward.io.console import make_console, print_paths
from radreward.io.progress import ProgressReporter
from radreward.io.terminal import print_line, print_status, printable
from tests.source_files import FILES, PACKAGE, syntax_tree

MARKUP = ("[/b]", "[red]no[/red]", "[link=https://x.org]x[/link]", "[bold", ":smile:", "\\[b]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
HOSTILE = st.text(st.one_of(st.sampled_from("\x1b\x9b\x9d\x07\x90\u202e\ud800[]m;0?ab\\ \n\t"), st.characters()))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("τ-b 5 %\tä\n日本 🫁", "τ-b 5 %\tä\n日本 🫁"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]8;;https://x.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07name", "name"),
        ("\x1b]0;no end", "0;no end"),  # nothing else is hidden
        ("\x1bcreset\x1b(0", "reset"),
        ("a\rb\bc\x00", "abc"),
        ("user\u202egnp.exe\u2066", "usergnp.exe"),
        ("caf\udce9", "caf\ufffd"),
    ],
)
def test_printable_removes_sequences_and_controls_only(text: str, printed: str) -> None:
    assert printable(text) == printed


@given(HOSTILE)
def test_printable_leaves_no_control_character(text: str) -> None:
    result = printable(text)
    assert not CONTROL.search(result)
    assert printable(result) == result
    result.encode()  # prints in UTF-8


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_printable_keeps_other_text(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("text", MARKUP)
def test_console_prints_markup_literally(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title=f"title {text}", caption=f"caption {text}")
    table.add_column(f"column {text}")
    table.add_row(f"cell {text}")
    make_console().print(table, f"line {text}")
    out = capsys.readouterr().out
    assert all(f"{where} {text}" in out for where in ("title", "caption", "column", "cell", "line"))


def test_console_prints_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title="\x1b[2Jtitle")
    table.add_column("\u202ecolumn")
    table.add_row("\x1b]0;x\x07cell")
    make_console(stderr=True).print(table, "\x9b31mline")
    err = capsys.readouterr().err
    assert not CONTROL.search(err)
    assert [word in err for word in ("title", "column", "cell", "line")] == [True] * 4


def test_lines_print_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("\x1b[31mone [/b]")
    print_status("\x1b[31mtwo [/b]")
    print_paths([("page", Path("a\x1b[31m[/b].html"))])
    captured = capsys.readouterr()
    assert captured.out == "one [/b]\npage  a[/b].html\n"
    assert captured.err == "two [/b]\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_prints_names_literally(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", is_terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    with ProgressReporter(interval=0.0) as progress:
        task = progress.add_task("\x1b]0;x\x07scorer [/b]", 2, note="into [red]")
        progress.advance(task, 2)
    assert "scorer [/b]" in capsys.readouterr().err


def test_only_the_terminal_modules_print() -> None:
    printing = {}
    for path in FILES:
        nodes = list(ast.walk(syntax_tree(path)))
        called = [node.func for node in nodes if isinstance(node, ast.Call)]
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        printing[str(path.relative_to(PACKAGE))] = [
            *(name.lineno for name in called if isinstance(name, ast.Name) and name.id == "print"),  # not `print_line`
            *(node.lineno for node in imports if node.module in ("rich", "rich.console", "rich.markup")),
        ]
    assert {name for name, lines in printing.items() if lines} <= {"io/terminal.py", "io/console.py"}
