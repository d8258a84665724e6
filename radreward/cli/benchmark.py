"""`radreward benchmark`: which metric agrees with people."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.errors import InputError

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--data", type=Path, default=None, help="rated pairs; `radreward convert` makes them")
    parser.add_argument(
        "--preferences", type=Path, default=None, help="pairs of candidates, and which of them people prefer"
    )
    parser.add_argument(
        "--scorers", required=True, nargs="+", help="names, folders of saved models or of runs, my_file.py:my_metric"
    )
    parser.add_argument("--output", required=True, type=Path, help="folder for the page, tables, figures and scores")
    parser.add_argument(
        "--probes",
        type=int,
        default=0,
        help="generated reports in which errors are made, to see whether metrics fall; 0 for none",
    )
    parser.add_argument("--bootstrap", type=int, default=1000, help="draws of cases for intervals and tests")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")


def run(options: Namespace) -> int:
    """Score, compare, show and write; 1 where a scorer failed or a pair has no score."""
    with suppress_library_warnings(), user_errors():
        _check(options)
        from radreward.meta_evaluation.preferences import read_preferences
        from radreward.meta_evaluation.rated_pairs_io import RatedPairs, read_rated_pairs

        pairs = read_rated_pairs(options.data) if options.data else RatedPairs([])
        preferences = read_preferences(options.preferences) if options.preferences else []
        options.output.mkdir(parents=True, exist_ok=True)
        from radreward.io.text_tables import terminal_table
        from radreward.meta_evaluation.benchmark import BenchmarkSettings, benchmark
        from radreward.meta_evaluation.benchmark_files import write_benchmark
        from radreward.meta_evaluation.benchmark_tables import FOOTNOTE, result_notes, terminal_tables
        from radreward.meta_evaluation.progress import BenchProgress
        from radreward.scorers import load
        from radreward.sensitivity.run import run_sensitivity_tests, sensitivity_tables

        files = [path for path in (options.data, options.preferences) if path]
        scorers = {name: partial(load, name) for name in options.scorers}
        with BenchProgress(options.output) as progress:
            bench = benchmark(
                pairs,
                scorers,
                options.output,
                BenchmarkSettings(options.bootstrap, options.seed),
                files,
                preferences,
                progress,
            )
            probes = []
            if options.probes:
                folder = options.output / "scores"
                probes = run_sensitivity_tests(
                    scorers, options.probes, options.seed, folder, lambda name: progress.tell(f"probes of {name}")
                )
            bench.sections["probes"] = probes
        written = write_benchmark(bench, options.output)
    console = Console()
    if not console.is_terminal or console.width > WIDTH:
        console = Console(width=WIDTH)
    results = bench.to_dict()
    for table in terminal_tables(results):
        console.print(terminal_table(*table), "")
    for probed in sensitivity_tables(probes) if probes else ():
        console.print(probed, "")
    for note in (FOOTNOTE, *result_notes(results)):
        console.print(note, highlight=False, markup=False)
    for path in written:
        console.print(f"{path.name:<14} {path}", soft_wrap=True, highlight=False, markup=False)
    return 1 if any(one.failure or one.unscored_reasons for one in (*bench.scorer_runs, *bench.preference_runs)) else 0


def _check(options: Namespace) -> None:
    """Settings, before anything slow is imported."""
    from radreward.scorers import resolve

    if not options.data and not options.preferences:
        raise InputError("Expected --data or --preferences, or both.")
    if options.bootstrap < 0:
        raise InputError(f"--bootstrap: Expected a number >= 0 but got {options.bootstrap}.")
    if options.probes < 0:
        raise InputError(f"--probes: Expected a number >= 0 but got {options.probes}.")
    if twice := [name for name in options.scorers if options.scorers.count(name) > 1]:
        raise InputError(f"--scorers: Expected different scorers but {twice[0]!r} is there twice.")
    for name in options.scorers:
        resolve(name)
