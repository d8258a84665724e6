"""Progress on standard error: bars on a terminal, otherwise one line per minute."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from radreward.io.console import make_console
from radreward.io.terminal import print_status, printable

T = TypeVar("T")


class ProgressReporter:
    """Progress of one or several tasks, as a context manager.

    Args:
        enabled: False shows nothing.
        interval: Seconds between two lines of a task, without a terminal.

    >>> with ProgressReporter(enabled=False) as progress:
    ...     task = progress.add_task("scored", total=10, unit="rows")
    ...     progress.advance(task, 10)
    """

    def __init__(self, enabled: bool = True, interval: float = 60.0) -> None:
        self.interval = interval
        console = make_console(stderr=True)
        is_terminal = console.is_terminal or console.is_jupyter
        self._prints_lines = enabled and not is_terminal
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}", markup=False),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            disable=not (enabled and is_terminal),
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def add_task(
        self, description: str, total: int | None = None, completed: int = 0, unit: str = "rows", note: str = ""
    ) -> TaskID:
        """Start a task.

        Args:
            description: Label of its bar and lines.
            total: Number of units; None if unknown, for a bar without an end.
            completed: Units that an earlier run completed.
            unit: Plural noun for what is counted.
            note: End of a first line, such as the name of the output; without a note, there is no first line.
        """
        now = time.monotonic()
        fields: dict[str, Any] = {
            "initial": completed,
            "unit": unit,
            "started": now,
            "printed": now if note else -math.inf,
            "speed": "",
            "left": "",
        }
        task = self._bars.add_task(printable(description), total=total, completed=completed, **fields)
        if note:
            self._print(task, note)
        return task

    def describe(self, task: TaskID, description: str) -> None:
        """Change the description of a task."""
        self._bars.update(task, description=printable(description))

    def advance(self, task: TaskID, units: int = 1) -> None:
        """Count completed units."""
        self._bars.update(task, advance=units)
        state, now = self._bars.tasks[self._bars.task_ids.index(task)], time.monotonic()
        speed = (state.completed - state.fields["initial"]) / max(now - state.fields["started"], 1e-9)
        left = "" if state.total is None else _time_left(state.total - state.completed, speed)
        self._bars.update(task, speed=f"{speed:.1f} {state.fields['unit']}/s", left=left)
        if state.finished or now - state.fields["printed"] >= self.interval:
            self._bars.update(task, printed=now)
            rate = ", ".join(filter(None, (f"{speed:.3g} {state.fields['unit']}/s", left)))
            self._print(task, "nothing to do" if state.total == 0 else rate)

    def track(
        self, values: Iterable[T], description: str, total: int | None = None, unit: str = "rows", note: str = ""
    ) -> Iterator[T]:
        """Yield values, and count them as the only task of this reporter, see `add_task`."""
        with self:
            task = self.add_task(description, total, unit=unit, note=note)
            for value in values:
                yield value
                self.advance(task)

    def _print(self, task: TaskID, text: str) -> None:
        if self._prints_lines:
            state = self._bars.tasks[self._bars.task_ids.index(task)]
            counts = f"{state.completed:.0f}" if state.total is None else f"{state.completed:.0f} of {state.total:.0f}"
            counts = f"{counts} {state.fields['unit']}, " if state.total or state.completed else ""
            print_status(f"{state.description}: {counts}{text}")


def _time_left(units: float, speed: float) -> str:
    """Return the time left at the mean speed of this run; the speed is 0 until the first units are complete.

    >>> _time_left(30, 1.0), _time_left(7200, 1.0), _time_left(30, 0.0)
    ('30 s left', '2 h 0 min left', 'time left unknown')
    """
    if not speed:
        return "time left unknown"
    seconds = units / speed
    if seconds < 100:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min left" if minutes >= 100 else f"{minutes} min left"
