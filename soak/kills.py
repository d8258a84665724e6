"""Commands that are killed at random moments, and continued by the same command: outputs must not differ."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import torch

from radreward.cli import main
from radreward.io.outputs import LOCK_NAME
from soak import Outcome
from soak._commands import Command, prepare_commands

KILLS = 20
"""Kills of each command in the full run."""
QUICK = ("evaluate", "score parquet", "convert", "evaluate review")
"""Commands that are killed once in the smallest run; most others have tests of their own that kill and resume them."""
REFUSED = ("experiments",)
"""Commands that do not run again once they have finished."""
TIMES = re.compile(
    rb'"(search_)?seconds": ?[\d.]+'
    rb"|[\d.]+ s; [\d.]+ s of them in the optimizer"
    rb"|,[\d.]+,(?=[^,\d\r\n]*\r?\n)"  # in `trials.csv`, before the reason
)
"""Times in results, which are not compared."""
LEFT_OUT = ("logs/", "checkpoints/", "study.db", ".sqlite", "plots", LOCK_NAME)
"""Files with times or in the order of writing, and locks of trials that were killed after they had finished.

Models, metrics and tables are compared.
"""
PRELOADED = (
    "radreward.cli.training",
    "radreward.tuning",
    "radreward.meta_evaluation.benchmark_files",
    "radreward.scorers",
)
"""Modules that the processes share, so that most kills do not hit imports."""


def run(scale: float) -> Iterator[Outcome]:
    """Kill each command, continue it, and compare its files with those of a run that was not killed."""
    torch.set_num_threads(1)
    for name in PRELOADED:
        import_module(name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kills = round(KILLS * scale)
        for command in prepare_commands(folder):
            if command.name in QUICK or (kills and command.name not in REFUSED):
                yield _kill_command(command, folder, max(1, kills))


def _kill_command(command: Command, folder: Path, kills: int) -> Outcome:
    start, output = time.monotonic(), folder / "killed"
    expected = _run(command, output)
    seconds = time.monotonic() - start
    if any(name.startswith("exit code") for name in expected):
        return Outcome(f"kills of {command.name}", kills, 0, f"does not run: {', '.join(expected)}")
    moments = random.Random(command.name)
    survived, note = 0, f"{seconds:.1f} s"
    for number in range(kills):
        shutil.rmtree(output)
        _run(command, output, kill_after=moments.uniform(0, seconds))
        files = _run(command, output)
        different = sorted(name for name in expected.keys() | files.keys() if expected.get(name) != files.get(name))
        survived += not different
        if different and "differs" not in note:
            note += f"; kill {number + 1} differs in {', '.join(different[:3])}"
    shutil.rmtree(output)
    return Outcome(f"kills of {command.name}", kills, survived, note)


def _run(command: Command, folder: Path, kill_after: float | None = None) -> Mapping[str, bytes]:
    """Run a command in a process of its own, killed after some seconds; return its files."""
    folder.mkdir(exist_ok=True)
    process = get_context("fork").Process(target=_main, args=(_line(command, folder),))
    process.start()
    process.join(kill_after)
    if process.is_alive():
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    elif process.exitcode not in (0, 1):
        return {f"exit code {process.exitcode}": b""}
    return _files(folder)


def _main(arguments: list[str]) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os._exit(main(arguments))


def _line(command: Command, folder: Path) -> list[str]:
    """Return the command line that starts a run or continues it."""
    line, output = command.line(folder), folder / command.output
    if command.name.startswith("fit") and command.option == "--run-dir=" and output.exists():
        line.append("--ckpt-path=last" if (output / "checkpoints" / "last.ckpt").is_file() else "--overwrite")
    return line


def _files(folder: Path) -> dict[str, bytes]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    compared = (name for name in names if not any(part in name for part in LEFT_OUT))
    return {name: TIMES.sub(b"", (folder / name).read_bytes()) for name in compared}
