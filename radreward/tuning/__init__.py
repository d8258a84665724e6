"""Studies: search the settings of `fit` for those that make a metric best."""

from radreward.tuning.results import Results, best_model, table, write_results
from radreward.tuning.search_space import Space
from radreward.tuning.study import run_study
from radreward.tuning.study_config import StudySettings, read_settings
from radreward.tuning.trial import Runner, StudyError, Training

__all__ = [
    "Results",
    "Runner",
    "Space",
    "StudyError",
    "StudySettings",
    "Training",
    "best_model",
    "read_settings",
    "run_study",
    "table",
    "write_results",
]
