"""`radreward compare`: finished runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_status


def run(
    runs: Sequence[Path],
    /,
    *,
    group_by: str | None = None,
    baseline: str | None = None,
    per_criterion: bool = False,
    output: Path | None = None,
) -> int:
    """Compare finished runs over seeds, with a paired test.

    Args:
        runs: Folders of runs, or of studies, whose trials are the runs.
        group_by: Setting whose value groups the runs; by default, runs that differ only in the seed are one group.
        baseline: Name of the group that the others are tested against; by default the first.
        per_criterion: Show every criterion, not only the total.
        output: Folder for the tables as CSV, Markdown and LaTeX.
    """
    with claimed_folder(output):
        from radreward.tuning.comparison import compare
        from radreward.tuning.comparison_tables import (
            comparison_footnote,
            difference_table,
            metrics_table,
            write_comparison,
        )
        from radreward.tuning.runs import find_runs

        finished, skipped = find_runs(list(runs))
        comparison = compare(finished, group_by, baseline)
        written = write_comparison(comparison, output) if output else ()
    for reason in skipped:
        print_status(f"Skipped: {reason}")
    console = make_console()
    for tag in comparison.metrics if per_criterion else ("total",):
        console.print(metrics_table(comparison, tag), "")
        if len(comparison.run_groups) > 1:
            console.print(difference_table(comparison, tag), "")
    console.print(comparison_footnote(comparison))
    print_paths((path.suffix[1:], path) for path in written)
    return 0
