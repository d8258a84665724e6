"""What metrics are worth: trained ones side by side over seeds, and scorers against people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward.evaluation.arms import Arm, arms_by, arms_of
from radreward.evaluation.compare import Comparison, Difference, Spread, compare
from radreward.evaluation.paired import differences, holm, sign_flip_test
from radreward.evaluation.preferences import Preference, read_preferences, write_preferences
from radreward.evaluation.rated import read_rated, write_rated
from radreward.evaluation.runs import Run, find_runs, read_run
from radreward.evaluation.tables import difference_table, figure_table, write_comparison
from radreward.evaluation.targets import RatedPair, RatedPairs, Target
from radreward.lazy import lazy

if TYPE_CHECKING:  # imported when they are first asked for
    from radreward.evaluation.bench import Bench, Settings, benchmark
    from radreward.evaluation.bench_files import write_bench
    from radreward.evaluation.published import convert

__all__ = [
    "Arm",
    "Bench",
    "Comparison",
    "Difference",
    "Preference",
    "RatedPair",
    "RatedPairs",
    "Run",
    "Settings",
    "Spread",
    "Target",
    "arms_by",
    "arms_of",
    "benchmark",
    "compare",
    "convert",
    "difference_table",
    "differences",
    "figure_table",
    "find_runs",
    "holm",
    "read_preferences",
    "read_rated",
    "read_run",
    "sign_flip_test",
    "write_bench",
    "write_comparison",
    "write_preferences",
    "write_rated",
]

__getattr__ = lazy(__name__)
