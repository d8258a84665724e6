"""Agreement of metrics with radiologists: rated pairs, correlations with intervals, tests, tables and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports
from radreward.meta_evaluation.preferences import Preference, read_preferences, write_preferences
from radreward.meta_evaluation.rated_pairs import RatedPair, RatedPairs, Target
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs, write_rated_pairs

if TYPE_CHECKING:
    from radreward.meta_evaluation.benchmark import BenchmarkResult, BenchmarkSettings, run_benchmark
    from radreward.meta_evaluation.benchmark_files import write_benchmark
    from radreward.meta_evaluation.converters import convert

__all__ = [
    "BenchmarkResult",
    "BenchmarkSettings",
    "Preference",
    "RatedPair",
    "RatedPairs",
    "Target",
    "run_benchmark",
    "convert",
    "read_preferences",
    "read_rated_pairs",
    "write_benchmark",
    "write_preferences",
    "write_rated_pairs",
]

__getattr__ = lazy_exports(__name__)
