"""Finished runs side by side: groups of runs, paired tests, tables."""

from radreward.comparison.compare import Comparison, Difference, Spread, compare
from radreward.comparison.run_groups import Arm, arms_by, arms_of
from radreward.comparison.runs import Run, find_runs, read_run
from radreward.comparison.tables import difference_table, figure_table, write_comparison

__all__ = [
    "Arm",
    "Comparison",
    "Difference",
    "Run",
    "Spread",
    "arms_by",
    "arms_of",
    "compare",
    "difference_table",
    "figure_table",
    "find_runs",
    "read_run",
    "write_comparison",
]
