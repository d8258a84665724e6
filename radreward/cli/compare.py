"""`radreward compare`: finished runs side by side."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, or of studies, whose trials are the runs")
    parser.add_argument(
        "--by", default=None, help="setting by which runs are put together; else those that differ in the seed alone"
    )
    parser.add_argument("--baseline", default=None, help="what the others are tested against, by the name in the table")
    parser.add_argument("--criteria", action="store_true", help="show every criterion, not the total alone")
    parser.add_argument("--output", type=Path, default=None, help="folder for the tables as CSV, Markdown and LaTeX")


def run(options: Namespace) -> int:
    """Show runs side by side, and write the tables where a folder is given."""
    with suppress_library_warnings(), user_errors():
        from radreward.comparison import compare
        from radreward.comparison.runs import find_runs
        from radreward.comparison.tables import comparison_footnote, difference_table, metrics_table, write_comparison

        runs, left_out = find_runs(options.runs)
        found = compare(runs, options.by, options.baseline)
        written = write_comparison(found, options.output) if options.output else ()
    for reason in left_out:
        print(f"Left out: {reason}", file=sys.stderr)
    console = Console()
    if not console.is_terminal or console.width > WIDTH:
        console = Console(width=WIDTH)
    for tag in found.metrics if options.criteria else ("total",):
        console.print(metrics_table(found, tag), "")
        if len(found.run_groups) > 1:
            console.print(difference_table(found, tag), "")
    console.print(comparison_footnote(found), highlight=False)
    for path in written:
        console.print(f"{path.suffix[1:]:<5} {path}", soft_wrap=True, highlight=False)
    return 0
