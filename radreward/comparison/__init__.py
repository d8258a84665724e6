"""Finished runs side by side: groups of runs, paired tests, tables."""

from radreward.comparison.compare import Comparison, Difference, MeanStd, compare
from radreward.comparison.run_groups import RunGroup, group_by_seed, group_by_setting
from radreward.comparison.runs import FinishedRun, find_runs, read_run
from radreward.comparison.tables import difference_table, metrics_table, write_comparison

__all__ = [
    "Comparison",
    "Difference",
    "FinishedRun",
    "MeanStd",
    "RunGroup",
    "compare",
    "difference_table",
    "find_runs",
    "group_by_seed",
    "group_by_setting",
    "metrics_table",
    "read_run",
    "write_comparison",
]
