"""The console of the commands: tables of one width, and the paths of written files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

MAX_WIDTH = 100
"""Width of tables in files and in wider terminals."""


def make_console() -> Console:
    """Return a console of at most `MAX_WIDTH` columns, and of exactly that many outside a terminal."""
    console = Console()
    return console if console.is_terminal and console.width <= MAX_WIDTH else Console(width=MAX_WIDTH)


def print_paths(paths: Iterable[tuple[str, str | Path]]) -> None:
    """Print one line per written file or folder: its name, then its path.

    Args:
        paths: Names and paths.
    """
    rows = list(paths)
    width = max((len(name) for name, _ in rows), default=0)
    console = Console()
    for name, path in rows:
        console.print(f"{name:<{width}}  {path}", soft_wrap=True, highlight=False, markup=False)
