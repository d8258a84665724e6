"""Studies: search the settings of `fit` for those that make a metric best."""

from radreward.tuning.results import StudyResults, best_model_location, trial_table, write_study_results
from radreward.tuning.search_space import SearchSpace
from radreward.tuning.study import run_study
from radreward.tuning.study_config import StudyConfig, load_study_config
from radreward.tuning.trial import StudyError, TrialRunner, TunableRun

__all__ = [
    "StudyResults",
    "TrialRunner",
    "SearchSpace",
    "StudyError",
    "StudyConfig",
    "TunableRun",
    "best_model_location",
    "load_study_config",
    "run_study",
    "trial_table",
    "write_study_results",
]
