"""Regressors of the overall score: fitted by scikit-learn, stored and evaluated as arrays."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.sentence_eval.regressors.fit_regressors import REGRESSORS, fit_regressor, param_grid
    from radreward.systems.sentence_eval.regressors.regressor import Regressor

__all__ = ["REGRESSORS", "Regressor", "fit_regressor", "param_grid"]

__getattr__ = lazy_exports(__name__)
