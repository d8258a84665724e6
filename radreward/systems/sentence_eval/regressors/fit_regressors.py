"""The six regressors of the paper, fitted by scikit-learn (Zhu et al., 2024, section III.B and Table VIII)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from radreward._lazy_imports import import_object
from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml
from radreward.systems.sentence_eval.regressors.regressor import Array, Regressor

RegressorParams = Mapping[str, Any]
ParamGrids = Mapping[str, tuple[RegressorParams, ...]]
"""Parameters to choose from, by regressor."""


@dataclass(frozen=True, slots=True)
class RegressorSpec:
    """A regressor of scikit-learn."""

    class_path: str
    export: Callable[[Any], Regressor]
    """Conversion of a fitted regressor to arrays."""
    fixed_params: RegressorParams = field(default_factory=dict)
    is_random: bool = True
    """True if fitting depends on a seed."""

    def build(self, params: RegressorParams, seed: int) -> Any:
        """Return the regressor of scikit-learn, not yet fitted."""
        seeded = {"random_state": seed} if self.is_random else {}
        return import_object(self.class_path)(**seeded, **self.fixed_params, **params)


def _export_trees(trees: list[Any], base: float, scale: float) -> Regressor:
    offsets = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
    arrays = {
        "roots": offsets.astype(np.int32),
        "feature": np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "value": np.concatenate([tree.value[:, 0, 0] for tree in trees]),
        "base": np.array([base]),
        "scale": np.array([scale]),
    }
    for side in ("left", "right"):
        children = [getattr(tree, f"children_{side}") for tree in trees]
        shifted = [np.where(own < 0, -1, own + offset) for own, offset in zip(children, offsets, strict=True)]
        arrays[side] = np.concatenate(shifted).astype(np.int32)
    return Regressor("trees", arrays)


def _export_svr(fitted: Any) -> Regressor:
    arrays = {
        "support": fitted.support_vectors_,
        "dual": fitted.dual_coef_[0],
        "gamma": np.array([fitted._gamma]),
        "base": fitted.intercept_,
    }
    return Regressor("rbf", arrays)


def _export_knn(fitted: Any) -> Regressor:
    return Regressor("knn", {"points": fitted._fit_X, "targets": fitted._y, "k": np.array([fitted.n_neighbors])})


def _export_mlp(fitted: Any) -> Regressor:
    arrays: dict[str, Array] = {}
    for number, (weight, bias) in enumerate(zip(fitted.coefs_, fitted.intercepts_, strict=True)):
        arrays |= {f"weight{number}": weight, f"bias{number}": bias}
    return Regressor("mlp", arrays)


REGRESSORS: dict[str, RegressorSpec] = {
    "decision-tree": RegressorSpec(
        "sklearn.tree.DecisionTreeRegressor", lambda fitted: _export_trees([fitted.tree_], 0.0, 1.0)
    ),
    "svr": RegressorSpec("sklearn.svm.SVR", _export_svr, is_random=False),
    "knn": RegressorSpec("sklearn.neighbors.KNeighborsRegressor", _export_knn, {"algorithm": "brute"}, is_random=False),
    "mlp": RegressorSpec(
        "sklearn.neural_network.MLPRegressor",
        _export_mlp,
        {"hidden_layer_sizes": (32,), "solver": "lbfgs", "max_iter": 300},
    ),
    "gradient-boosting": RegressorSpec(
        "sklearn.ensemble.GradientBoostingRegressor",
        lambda fitted: _export_trees(
            [tree.tree_ for tree in fitted.estimators_[:, 0]],
            float(fitted.init_.constant_.item()),
            fitted.learning_rate,
        ),
        {"n_estimators": 100, "subsample": 0.7},
    ),
    "random-forest": RegressorSpec(
        "sklearn.ensemble.RandomForestRegressor",
        lambda fitted: _export_trees([tree.tree_ for tree in fitted.estimators_], 0.0, 1 / len(fitted.estimators_)),
        {"n_estimators": 60, "max_features": 0.5},
    ),
}
"""Regressors by name, in the order of Table VIII."""


@cache
def default_param_grids() -> ParamGrids:
    """Return the parameters to choose from, by regressor, from the file of the package."""
    return read_param_grids(Path(__file__).with_name("param_grids.yaml"))


def read_param_grids(path: Path) -> ParamGrids:
    """Return the parameters to choose from, by regressor, from a YAML file like `param_grids.yaml`.

    Raises:
        InputError: If the file cannot be read, or names an unknown regressor or parameter. The message names the entry.
    """
    content = read_yaml(path)
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path}: Expected lists of parameters by regressor but got {content!r}.")
    for name, choices in content.items():
        if name not in REGRESSORS:
            raise InputError(f"{path}: Expected a regressor of {', '.join(REGRESSORS)} but got {name!r}.")
        if not isinstance(choices, list) or not choices or not all(isinstance(entry, dict) for entry in choices):
            raise InputError(f"{path}: {name}: Expected a list of parameters by name but got {choices!r}.")
        for entry in choices:
            _check_params(f"{path}: {name}", name, entry)
    return {name: tuple(choices) for name, choices in content.items()}


def _check_params(location: str, name: str, params: RegressorParams) -> None:
    spec = REGRESSORS[name]
    try:
        spec.build(params, 0)._validate_params()  # `fit` would check values too late
    except (TypeError, ValueError) as error:
        raise InputError(f"{location}: Expected arguments of {spec.class_path} ({error}).") from error


def fit_regressor(
    name: str, features: Array, target: Array, params: RegressorParams | None = None, seed: int = 0
) -> Regressor:
    """Fit a regressor to a target that is first scaled to mean 0 and standard deviation 1.

    Args:
        name: One of `REGRESSORS`.
        features: (n, d).
        target: (n,).
        params: Its parameters; defaults to the first of `default_param_grids`.
        seed: Seed of the fit.

    Raises:
        ValueError: If the regressor is unknown, a number is not finite, the target is constant, or there are fewer
            rows than neighbors.

    >>> x = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    >>> bool(np.abs(fit_regressor("svr", x, x[:, 0]).predict(x) - x[:, 0]).max() < 0.1)
    True
    """
    if name not in REGRESSORS:
        raise ValueError(f"Expected a regressor of {', '.join(REGRESSORS)} but got {name!r}.")
    params = default_param_grids()[name][0] if params is None else params
    x, y = np.asarray(features, np.float64), np.asarray(target, np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or not np.isfinite(x).all() or not np.isfinite(y).all():
        raise ValueError(f"Expected (n, d) features and (n,) targets, finite, but got {x.shape} and {y.shape}.")
    if len(y) < (min_rows := max(2, params.get("n_neighbors", 0))):
        raise ValueError(f"Expected at least {min_rows} rows for {name} but got {len(y)}.")
    if (y == y[0]).all():
        raise ValueError(f"Expected targets that differ but all {len(y)} are {y[0]:g}.")
    mean, scale = float(y.mean()), float(y.std())
    spec = REGRESSORS[name]
    with warnings.catch_warnings():
        # Cross-validation evaluates a network that has not converged like any other.
        warnings.filterwarnings("ignore", ".*lbfgs failed to converge.*")
        fitted = spec.build(params, seed).fit(x, (y - mean) / scale)
    exported = spec.export(fitted)
    return Regressor(exported.kind, exported.arrays, mean, scale)
