"""Agreement of metrics with radiologists: rated pairs, correlations with intervals, tests, tables and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy
from radreward.meta_evaluation.preferences import Preference, read_preferences, write_preferences
from radreward.meta_evaluation.rated_pairs import RatedPair, RatedPairs, Target
from radreward.meta_evaluation.rated_pairs_io import read_rated, write_rated

if TYPE_CHECKING:
    from radreward.meta_evaluation.benchmark import Bench, Settings, benchmark
    from radreward.meta_evaluation.benchmark_files import write_bench
    from radreward.meta_evaluation.converters import convert

__all__ = [
    "Bench",
    "Preference",
    "RatedPair",
    "RatedPairs",
    "Settings",
    "Target",
    "benchmark",
    "convert",
    "read_preferences",
    "read_rated",
    "write_bench",
    "write_preferences",
    "write_rated",
]

__getattr__ = lazy(__name__)
