"""The six regressors of the paper, fitted by scikit-learn (Zhu et al., 2024, section III.B and Table VIII)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from radreward.systems.sentence_eval.regressors.regressor import Array, Regressor

RegressorParams = Mapping[str, Any]


class RegressorSpec(NamedTuple):
    """A regressor of scikit-learn, and settings to choose from."""

    factory: Callable[[RegressorParams, int], Any]
    """Of settings and a seed."""
    grid: tuple[RegressorParams, ...]
    export: Callable[[Any], Regressor]


def _decision_tree(settings: RegressorParams, seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(random_state=seed, **settings)


def _svr(settings: RegressorParams, seed: int) -> Any:
    from sklearn.svm import SVR

    return SVR(**settings)


def _knn(settings: RegressorParams, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(algorithm="brute", **settings)


def _mlp(settings: RegressorParams, seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(hidden_layer_sizes=(32,), random_state=seed, solver="lbfgs", max_iter=300, **settings)


def _gradient_boosting(settings: RegressorParams, seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=seed, n_estimators=100, subsample=0.7, **settings)


def _random_forest(settings: RegressorParams, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(60, random_state=seed, max_features=0.5, **settings)


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
    for name, children in (("left", "children_left"), ("right", "children_right")):
        moved = [
            np.where(getattr(t, children) < 0, -1, getattr(t, children) + o)
            for t, o in zip(trees, offsets, strict=True)
        ]
        arrays[name] = np.concatenate(moved).astype(np.int32)
    return Regressor("trees", arrays)


def _export_svr(fitted: Any) -> Regressor:
    return Regressor(
        "kernel",
        {
            "support": fitted.support_vectors_,
            "dual": fitted.dual_coef_[0],
            "gamma": np.array([fitted._gamma]),
            "base": fitted.intercept_,
        },
    )


def _export_mlp(fitted: Any) -> Regressor:
    layers = enumerate(zip(fitted.coefs_, fitted.intercepts_, strict=True))
    pairs = ((number, weight, bias) for number, (weight, bias) in layers)
    return Regressor("layers", {f"{n}{k}": v for k, w, b in pairs for n, v in (("weight", w), ("bias", b))})


REGRESSORS: dict[str, RegressorSpec] = {
    "decision-tree": RegressorSpec(
        _decision_tree,
        tuple({"max_depth": depth, "min_samples_leaf": leaf} for depth, leaf in ((4, 5), (6, 10))),
        lambda fitted: _export_trees([fitted.tree_], 0.0, 1.0),
    ),
    "support-vectors": RegressorSpec(_svr, tuple({"C": c, "epsilon": 0.1} for c in (1.0, 5.0)), _export_svr),
    "nearest-neighbours": RegressorSpec(
        _knn,
        tuple({"n_neighbors": k} for k in (5, 15)),
        lambda fitted: Regressor(
            "neighbours", {"points": fitted._fit_X, "targets": fitted._y, "k": np.array([fitted.n_neighbors])}
        ),
    ),
    "neural-network": RegressorSpec(_mlp, tuple({"alpha": alpha} for alpha in (0.01, 1.0)), _export_mlp),
    "gradient-boosting": RegressorSpec(
        _gradient_boosting,
        tuple({"max_depth": depth, "learning_rate": rate} for depth, rate in ((3, 0.05), (3, 0.1))),
        lambda fitted: _export_trees(
            [tree.tree_ for tree in fitted.estimators_[:, 0]],
            float(fitted.init_.constant_.item()),
            fitted.learning_rate,
        ),
    ),
    "random-forest": RegressorSpec(
        _random_forest,
        tuple({"min_samples_leaf": leaf} for leaf in (2, 5)),
        lambda fitted: _export_trees([tree.tree_ for tree in fitted.estimators_], 0.0, 1 / len(fitted.estimators_)),
    ),
}
"""By name; in the order of Table VIII."""


def param_grid(name: str) -> tuple[RegressorParams, ...]:
    """The settings to choose from for a regressor.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in REGRESSORS:
        raise ValueError(f"Expected a regressor of {', '.join(REGRESSORS)} but got {name!r}.")
    return REGRESSORS[name].grid


def fit_regressor(
    name: str, features: Array, target: Array, params: RegressorParams | None = None, seed: int = 0
) -> Regressor:
    """A regressor fitted to a target, as arrays.

    The target is scaled to mean 0 and deviation 1 first, so that settings mean the same for any; features are shares.

    Args:
        name: One of `REGRESSORS`.
        features: (n, d).
        target: (n,).
        settings: Of `settings_of`; the first where nothing is given.
        seed: Decides every draw.

    Raises:
        ValueError: If there is no such regressor, a number is not finite, the target is constant, or there are fewer
            rows than neighbours.

    >>> x = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    >>> bool(np.abs(fit_regressor("support-vectors", x, x[:, 0]).predict(x) - x[:, 0]).max() < 0.1)
    True
    """
    params = param_grid(name)[0] if params is None else params
    x, y = np.asarray(features, np.float64), np.asarray(target, np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or not np.isfinite(x).all() or not np.isfinite(y).all():
        raise ValueError(f"Expected (n, d) features and (n,) targets, finite, but got {x.shape} and {y.shape}.")
    if len(y) < (least := max(2, params.get("n_neighbors", 0))):
        raise ValueError(f"Expected {least} rows at least for {name} but got {len(y)}.")
    if (y == y[0]).all():
        raise ValueError(f"Expected targets that differ but all {len(y)} are {y[0]:g}.")
    mean, scale = float(y.mean()), float(y.std())
    kind = REGRESSORS[name]
    with warnings.catch_warnings():
        # A network that stops after its last step is as good as any other: cross-validation tells what it is worth.
        warnings.filterwarnings("ignore", ".*lbfgs failed to converge.*")
        fitted = kind.factory(params, seed).fit(x, (y - mean) / scale)
    found = kind.export(fitted)
    return Regressor(found.kind, found.arrays, mean, scale)
