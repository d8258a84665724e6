"""How far a run over a file is: a bar where there is a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressReporter:
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
        self,
        total: int,
        output: Path,
        completed: int = 0,
        enabled: bool = True,
        interval: float = 60.0,
        description: str = "scored",
    ) -> None:
        self.total, self.output, self.completed, self.interval, self.description = (
            total,
            output,
            completed,
            interval,
            description,
        )
        console = Console(stderr=True)
        bar = console.is_terminal or console.is_jupyter
        self._plain_text = enabled and not bar
        columns = (
            TextColumn(description),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]} rows/s"),
        )
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=not (enabled and bar))
        self._task = self._bar.add_task(description, total=total, completed=completed, speed="-")

    def __enter__(self) -> Self:
        self._started = self._last_printed = time.monotonic()
        self._advanced = 0
        self._bar.start()
        if self._plain_text:
            self._print_line(f"into {self.output}")
        return self

    def advance(self, rows: int) -> None:
        """Rows were done."""
        self._advanced += rows
        now = time.monotonic()
        speed = self._advanced / (now - self._started)
        self._bar.update(self._task, advance=rows, speed=f"{speed:.1f}")
        if self._plain_text and now - self._last_printed >= self.interval:
            left = (self.total - self.completed - self._advanced) / speed / 60
            self._print_line(f"{speed:.3g} rows/s, {left:.0f} min left")

    def _print_line(self, text: str) -> None:
        self._last_printed = time.monotonic()
        print(
            f"{self.description} {self.completed + self._advanced} of {self.total} rows: {text}",
            file=sys.stderr,
            flush=True,
        )

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()
