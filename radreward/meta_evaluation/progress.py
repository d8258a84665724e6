"""How far a benchmark is: bars where there is a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class BenchProgress:
    """Counts pairs on the standard error, scorer by scorer.

    Args:
        output: Where everything goes; told at the start.
        every: Seconds between two lines.
    """

    def __init__(self, output: Path, every: float = 60.0) -> None:
        self.output, self.every = output, every
        console = Console(stderr=True)
        self._lines = not (console.is_terminal or console.is_jupyter)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(*columns, TimeRemainingColumn(), console=console, disable=self._lines)
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}
        self._told, self._pairs = 0.0, 0
        self._figures: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        print(f"Scores go to {self.output}; what is stopped goes on when it is run again.", file=sys.stderr)
        return self

    def begin(self, scorer: str, pairs: int) -> None:
        """A scorer is loaded, for so many pairs."""
        self._tasks[scorer] = self._bars.add_task(scorer, total=pairs)
        self._done[scorer], self._pairs = 0, pairs

    def tell(self, what: str) -> None:
        """Something is computed of the scores."""
        if self._figures is None:
            self._figures = self._bars.add_task(what, total=None)
        self._bars.update(self._figures, description=what)

    def advance(self, scorer: str, pairs: int) -> None:
        """Pairs were scored."""
        self._done[scorer] += pairs
        self._bars.update(self._tasks[scorer], advance=pairs)
        now, over = time.monotonic(), self._done[scorer] >= self._pairs
        if self._lines and (over or now - self._told >= self.every):
            self._told = now
            print(f"{scorer}: {self._done[scorer]} of {self._pairs} pairs", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()
