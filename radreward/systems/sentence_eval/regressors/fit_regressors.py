"""The six regressors of the paper, fitted by scikit-learn (Zhu et al., 2024, section III.B and Table VIII)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from radreward._lazy_imports import import_object
from radreward.systems.sentence_eval.regressors.regressor import Array, Regressor

RegressorParams = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RegressorSpec:
    """A regressor of scikit-learn."""

    class_path: str
    grid: tuple[RegressorParams, ...]
    """Parameters to choose from."""
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
        "sklearn.tree.DecisionTreeRegressor",
        tuple({"max_depth": depth, "min_samples_leaf": leaf} for depth, leaf in ((4, 5), (6, 10))),
        lambda fitted: _export_trees([fitted.tree_], 0.0, 1.0),
    ),
    "svr": RegressorSpec(
        "sklearn.svm.SVR", tuple({"C": c, "epsilon": 0.1} for c in (1.0, 5.0)), _export_svr, is_random=False
    ),
    "knn": RegressorSpec(
        "sklearn.neighbors.KNeighborsRegressor",
        tuple({"n_neighbors": k} for k in (5, 15)),
        _export_knn,
        {"algorithm": "brute"},
        is_random=False,
    ),
    "mlp": RegressorSpec(
        "sklearn.neural_network.MLPRegressor",
        tuple({"alpha": alpha} for alpha in (0.01, 1.0)),
        _export_mlp,
        {"hidden_layer_sizes": (32,), "solver": "lbfgs", "max_iter": 300},
    ),
    "gradient-boosting": RegressorSpec(
        "sklearn.ensemble.GradientBoostingRegressor",
        tuple({"max_depth": depth, "learning_rate": rate} for depth, rate in ((3, 0.05), (3, 0.1))),
        lambda fitted: _export_trees(
            [tree.tree_ for tree in fitted.estimators_[:, 0]],
            float(fitted.init_.constant_.item()),
            fitted.learning_rate,
        ),
        {"n_estimators": 100, "subsample": 0.7},
    ),
    "random-forest": RegressorSpec(
        "sklearn.ensemble.RandomForestRegressor",
        tuple({"min_samples_leaf": leaf} for leaf in (2, 5)),
        lambda fitted: _export_trees([tree.tree_ for tree in fitted.estimators_], 0.0, 1 / len(fitted.estimators_)),
        {"n_estimators": 60, "max_features": 0.5},
    ),
}
"""Regressors by name, in the order of Table VIII."""


def param_grid(name: str) -> tuple[RegressorParams, ...]:
    """Return the parameters to choose from for a regressor.

    Raises:
        ValueError: If the name is unknown.
    """
    if name not in REGRESSORS:
        raise ValueError(f"Expected a regressor of {', '.join(REGRESSORS)} but got {name!r}.")
    return REGRESSORS[name].grid


def fit_regressor(
    name: str, features: Array, target: Array, params: RegressorParams | None = None, seed: int = 0
) -> Regressor:
    """Fit a regressor to a target that is first scaled to mean 0 and standard deviation 1.

    Args:
        name: One of `REGRESSORS`.
        features: (n, d).
        target: (n,).
        params: One of `param_grid`; defaults to the first.
        seed: Seed of the fit.

    Raises:
        ValueError: If the regressor is unknown, a number is not finite, the target is constant, or there are fewer
            rows than neighbors.

    >>> x = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    >>> bool(np.abs(fit_regressor("svr", x, x[:, 0]).predict(x) - x[:, 0]).max() < 0.1)
    True
    """
    params = param_grid(name)[0] if params is None else params
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
        # A network that reached the last iteration is evaluated by cross-validation like any other.
        warnings.filterwarnings("ignore", ".*lbfgs failed to converge.*")
        fitted = spec.build(params, seed).fit(x, (y - mean) / scale)
    exported = spec.export(fitted)
    return Regressor(exported.kind, exported.arrays, mean, scale)
