"""Optuna studies: search the settings of `fit` that optimize a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.tuning.results import StudyResults, best_model_location, trial_table, write_study_results
    from radreward.tuning.search_space import SearchSpace
    from radreward.tuning.study import run_study
    from radreward.tuning.study_config import StudyConfig, load_study_config
    from radreward.tuning.trial import StudyError, TrialRunner, TunableRun

__all__ = [
    "SearchSpace",
    "StudyConfig",
    "StudyError",
    "StudyResults",
    "TrialRunner",
    "TunableRun",
    "best_model_location",
    "load_study_config",
    "run_study",
    "trial_table",
    "write_study_results",
]

__getattr__ = lazy_exports(__name__)
