"""The overall score from the shares of sentence scores: regressors, fitted by scikit-learn, kept as arrays."""

from radreward.models.regression.arrays import Regressor
from radreward.models.regression.fitting import REGRESSORS, fit_regressor, settings_of

__all__ = ["REGRESSORS", "Regressor", "fit_regressor", "settings_of"]
