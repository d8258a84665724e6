"""The overall score from the shares of sentence scores: regressors, fitted by scikit-learn, kept as arrays."""

from radreward.systems.sentence_eval.regressors.fit_regressors import REGRESSORS, fit_regressor, param_grid
from radreward.systems.sentence_eval.regressors.regressor import Regressor

__all__ = ["REGRESSORS", "Regressor", "fit_regressor", "param_grid"]
