"""A console that prints all text literally, and the list of written files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from radreward.io.terminal import print_line, printable

_FILE_WIDTH = 100
"""Width of tables outside a terminal."""


class PlainTextConsole(Console):
    """A console that interprets neither markup, emoji codes nor control characters of the texts it prints.

    rich renders every `str` through `render_str`: arguments of `print`, titles and cells of tables.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is; see `radreward.io.terminal.printable`."""
        return super().render_str(printable(text), **{**options, "markup": False, "emoji": False})


def make_console(stderr: bool = False) -> Console:
    """Return a console with the width of the terminal, or of `_FILE_WIDTH` columns outside a terminal."""
    console = PlainTextConsole(stderr=stderr)
    return console if console.is_terminal else PlainTextConsole(stderr=stderr, width=_FILE_WIDTH)


def print_paths(paths: Iterable[tuple[str, str | Path]]) -> None:
    """Print one line per written file or folder: its name, then its path."""
    rows = list(paths)
    width = max((len(name) for name, _ in rows), default=0)
    for name, path in rows:
        print_line(f"{name:<{width}}  {path}")
