"""How far a run over a file is: a bar where there is a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class RowProgress:
    """Counts rows on the standard error.

    Args:
        rows: How many there are.
        output: Where they go; told at the start.
        done: Rows that an earlier run had done.
        show: Whether anything is shown.
        every: Seconds between two lines.
        word: What is done with the rows.
    """

    def __init__(
        self, rows: int, output: Path, done: int = 0, show: bool = True, every: float = 60.0, word: str = "scored"
    ) -> None:
        self.rows, self.output, self.done, self.every, self.word = rows, output, done, every, word
        console = Console(stderr=True)
        bar = console.is_terminal or console.is_jupyter
        self._lines = show and not bar
        columns = (TextColumn(word), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[speed]} rows/s"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=not (show and bar))
        self._task = self._bar.add_task(word, total=rows, completed=done, speed="-")

    def __enter__(self) -> Self:
        self._began = self._told = time.monotonic()
        self._fresh = 0
        self._bar.start()
        if self._lines:
            self._tell(f"into {self.output}")
        return self

    def advance(self, rows: int) -> None:
        """Rows were done."""
        self._fresh += rows
        now = time.monotonic()
        speed = self._fresh / (now - self._began)
        self._bar.update(self._task, advance=rows, speed=f"{speed:.1f}")
        if self._lines and now - self._told >= self.every:
            left = (self.rows - self.done - self._fresh) / speed / 60
            self._tell(f"{speed:.3g} rows/s, {left:.0f} min left")

    def _tell(self, text: str) -> None:
        self._told = time.monotonic()
        print(f"{self.word} {self.done + self._fresh} of {self.rows} rows: {text}", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
