"""What trained metrics are worth, side by side: runs over seeds, with a paired test."""

from radreward.evaluation.arms import Arm, arms_by, arms_of
from radreward.evaluation.compare import Comparison, Difference, Spread, compare
from radreward.evaluation.paired import differences, holm, sign_flip_test
from radreward.evaluation.runs import Run, find_runs, read_run
from radreward.evaluation.tables import difference_table, figure_table, write_comparison

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
    "differences",
    "figure_table",
    "find_runs",
    "holm",
    "read_run",
    "sign_flip_test",
    "write_comparison",
]
