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

from benchmarks._figures import Figure

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
    Case(("score", "--scorers", "nobody", "--input", "pairs.jsonl", "--output", "scores.csv")),
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


def main(cases: Sequence[Case] = CASES, rounds: int = 3) -> list[Figure]:
    """Run and print the benchmark."""
    measured = []
    with tempfile.TemporaryDirectory() as name:
        write_inputs(Path(name))
        for case in cases:
            minimum = min(cpu_seconds(case.arguments, Path(name)) for _ in range(rounds))
            print(json.dumps({"arguments": case.arguments, "cpu_seconds": minimum}), flush=True)
            measured.append(Figure(f"radreward {' '.join(case.arguments)}", minimum, "s", at_most=case.goal))
    return measured
