"""Optuna studies over the settings of `fit`, and finished runs side by side: paired tests and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.tuning.comparison import Comparison, Difference, MeanStd, compare
    from radreward.tuning.comparison_tables import difference_table, metrics_table, write_comparison
    from radreward.tuning.results import StudyResults, best_model_location, trial_tables, write_study_results
    from radreward.tuning.run_groups import RunGroup, group_by_seed, group_by_setting
    from radreward.tuning.runs import FinishedRun, find_runs, read_run
    from radreward.tuning.search_space import SearchSpace
    from radreward.tuning.study import run_study
    from radreward.tuning.study_config import StudyConfig, load_study_config
    from radreward.tuning.trial import StudyError, TrialRunner, TunableRun

__all__ = [
    "Comparison",
    "Difference",
    "FinishedRun",
    "MeanStd",
    "RunGroup",
    "SearchSpace",
    "StudyConfig",
    "StudyError",
    "StudyResults",
    "TrialRunner",
    "TunableRun",
    "best_model_location",
    "compare",
    "difference_table",
    "find_runs",
    "group_by_seed",
    "group_by_setting",
    "load_study_config",
    "metrics_table",
    "read_run",
    "run_study",
    "trial_tables",
    "write_comparison",
    "write_study_results",
]

__getattr__ = lazy_exports(__name__)
