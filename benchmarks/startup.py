"""CPU seconds until each command reports missing input or prints its help (goal: 2 s), and of one scored pair (3.5 s).

Minimum of several processes; CPU time, because other programs may use the machine.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

SECONDS = 2.0
"""Goal of commands that do no job."""


class Case(NamedTuple):
    """A command line and its goal in seconds, None if it has none."""

    arguments: tuple[str, ...]
    goal: float | None = SECONDS


CASES = (
    Case(("--help",)),
    Case(("score", "--help")),
    Case(("evaluate", "--data", "nowhere.jsonl")),
    Case(("score", "--input", "nowhere.csv", "--output", "scores.csv")),
    Case(("score", "--models", "nobody", "--input", "pairs.jsonl", "--output", "scores.csv")),
    Case(("synthesize", "--groups", "2", "--output", "data"), None),
    Case(("score", "--input", "pairs.jsonl", "--output", "scores.csv"), 3.5),
    Case(("evaluate", "--data", "groups.jsonl"), None),
)


def write_inputs(folder: Path) -> None:
    """Write one pair to score, and two groups with error counts of the shipped model's criteria."""
    from radreward.criteria import RadCliQSignificanceCriteria
    from radreward.data.records import write_groups
    from radreward.synthesis import synthesize

    pair = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Small left effusion."}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    write_groups(folder / "groups.jsonl", synthesize(RadCliQSignificanceCriteria(), 2))


def cpu_seconds(arguments: Sequence[str], folder: Path) -> float:
    """Return the CPU seconds of a process that runs a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "radreward", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)  # noqa: S603 - our own code
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(cases: Sequence[Case] = CASES, rounds: int = 3) -> None:
    """Run and print the benchmark."""
    table = Table("command", "CPU s", "goal", title="Start-up")
    with tempfile.TemporaryDirectory() as name:
        write_inputs(Path(name))
        for case in cases:
            minimum = min(cpu_seconds(case.arguments, Path(name)) for _ in range(rounds))
            verdict = "" if case.goal is None else f"{case.goal:g} s: {'met' if minimum < case.goal else 'MISSED'}"
            table.add_row(f"radreward {' '.join(case.arguments)}", f"{minimum:.2f}", verdict)
            print(json.dumps({"arguments": case.arguments, "cpu_seconds": minimum}), flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
