"""`radreward compare`: finished runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_status


def run(
    runs: Sequence[Path],
    /,
    *,
    group_by: str | None = None,
    baseline: str | None = None,
    criteria: bool = False,
    output: Path | None = None,
) -> int:
    """Compare finished runs over seeds, with a paired test.

    Args:
        runs: Folders of runs, or of studies, whose trials are the runs.
        group_by: Setting whose value groups the runs; by default runs that differ in the seed only form a group.
        baseline: Name of the group that the others are tested against; by default the first.
        criteria: Show every criterion, not the total alone.
        output: Folder for the tables as CSV, Markdown and LaTeX.
    """
    with suppress_library_warnings(), user_errors(), claimed_folder(output):
        from radreward.comparison import compare
        from radreward.comparison.runs import find_runs
        from radreward.comparison.tables import comparison_footnote, difference_table, metrics_table, write_comparison

        finished, skipped = find_runs(list(runs))
        comparison = compare(finished, group_by, baseline)
        written = write_comparison(comparison, output) if output else ()
    for reason in skipped:
        print_status(f"Skipped: {reason}")
    console = make_console()
    for tag in comparison.metrics if criteria else ("total",):
        console.print(metrics_table(comparison, tag), "")
        if len(comparison.run_groups) > 1:
            console.print(difference_table(comparison, tag), "")
    console.print(comparison_footnote(comparison))
    print_paths((path.suffix[1:], path) for path in written)
    return 0
