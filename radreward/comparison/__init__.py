"""Finished runs side by side: groups of runs, paired tests, tables."""

from radreward.comparison.compare import Comparison, Difference, MeanStd, compare
from radreward.comparison.run_groups import RunGroup, group_by_seed, group_by_setting
from radreward.comparison.runs import FinishedRun, find_runs, read_run
from radreward.comparison.tables import difference_table, metrics_table, write_comparison

__all__ = [
    "RunGroup",
    "Comparison",
    "Difference",
    "FinishedRun",
    "MeanStd",
    "group_by_setting",
    "group_by_seed",
    "compare",
    "difference_table",
    "metrics_table",
    "find_runs",
    "read_run",
    "write_comparison",
]
