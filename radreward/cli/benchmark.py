"""`radreward benchmark`: which metric agrees with people."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rich.console import Console

from radreward.cli.messages import quiet, readable
from radreward.errors import InputError

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--data", required=True, type=Path, help="rated pairs; `radreward convert` makes them")
    parser.add_argument("--scorers", required=True, nargs="+", help="names, or folders of saved models or of runs")
    parser.add_argument("--output", required=True, type=Path, help="folder for tables, figures and scores")
    parser.add_argument("--bootstrap", type=int, default=1000, help="draws of cases for intervals and tests")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")


def run(options: Namespace) -> int:
    """Score, compare, show and write; 1 where a scorer failed or a pair has no score."""
    with quiet(), readable():
        from radreward.scorers import find

        if options.bootstrap < 0:
            raise InputError(f"--bootstrap: Expected a number >= 0 but got {options.bootstrap}.")
        if twice := [name for name in options.scorers if options.scorers.count(name) > 1]:
            raise InputError(f"--scorers: Expected different scorers but {twice[0]!r} is there twice.")
        for name in options.scorers:
            find(name)
        from radreward.evaluation.rated import read_rated

        pairs = read_rated(options.data)
        _make(options.output)
        from functools import partial

        from radreward.evaluation.bench import benchmark
        from radreward.evaluation.bench_files import write_bench
        from radreward.evaluation.bench_tables import agreement_table, notes
        from radreward.evaluation.progress import BenchProgress
        from radreward.scorers import load

        scorers = {name: partial(load, name) for name in options.scorers}
        with BenchProgress(len(pairs), options.output) as progress:
            bench = benchmark(pairs, scorers, options.output, options.bootstrap, options.seed, options.data, progress)
        written = write_bench(bench, options.output)
    console = Console()
    if not console.is_terminal or console.width > WIDTH:
        console = Console(width=WIDTH)
    console.print(agreement_table(bench), "")
    for note in notes(bench):
        console.print(note, highlight=False, markup=False)
    for path in written:
        console.print(f"{path.name:<14} {path}", soft_wrap=True, highlight=False, markup=False)
    return 1 if any(one.reason or one.unscored for one in bench.scored) else 0


def _make(folder: Path) -> None:
    """What cannot be written is told before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
