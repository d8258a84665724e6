"""Regressors of the overall score: fitted by scikit-learn, stored and evaluated as arrays."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.sentence_eval.regressors.fit_regressors import (
        REGRESSORS,
        default_param_grids,
        fit_regressor,
        read_param_grids,
    )
    from radreward.systems.sentence_eval.regressors.regressor import Regressor

__all__ = ["REGRESSORS", "Regressor", "default_param_grids", "fit_regressor", "read_param_grids"]

__getattr__ = lazy_exports(__name__)
