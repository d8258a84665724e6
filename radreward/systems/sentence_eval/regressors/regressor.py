"""Fitted regressor as arrays: predicts without scikit-learn and is stored without pickle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from radreward.errors import InputError, check_choice
from radreward.io.artifacts import fingerprint, load_metadata, load_tensors, save_tensors
from radreward.io.model_config import config_errors

Array = NDArray[Any]
_PredictFunction = Callable[[Mapping[str, Array], Array], Array]
_PREDICT_BATCH_SIZE = 512
FORMAT = "radreward.regressor.1"


def _predict_trees(arrays: Mapping[str, Array], x: Array) -> Array:
    """Return base + scale · Σ of the leaf values over all trees."""
    feature, threshold, left, right = (arrays[name] for name in ("feature", "threshold", "left", "right"))
    x = x.astype(np.float32)  # scikit-learn compares thresholds with float32
    nodes = np.broadcast_to(arrays["roots"], (len(x), len(arrays["roots"])))  # (n, trees)
    rows = np.arange(len(x))[:, None]
    while (is_inner := left[nodes] >= 0).any():
        children = np.where(x[rows, feature[nodes]] <= threshold[nodes], left[nodes], right[nodes])
        nodes = np.where(is_inner, children, nodes)
    return np.asarray(arrays["base"] + arrays["scale"] * arrays["value"][nodes].sum(1))


def _predict_rbf(arrays: Mapping[str, Array], x: Array) -> Array:
    """Return base + Σ dual · exp(-γ |x - support|²)."""
    squares = ((x[:, None] - arrays["support"]) ** 2).sum(2)
    return np.asarray(np.exp(-arrays["gamma"] * squares) @ arrays["dual"] + arrays["base"])


def _predict_knn(arrays: Mapping[str, Array], x: Array) -> Array:
    """Return the mean target of the k nearest points. Of points at the same distance, the first ones are used."""
    squares = ((x[:, None] - arrays["points"]) ** 2).sum(2)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, : arrays["k"].item()]
    return np.asarray(arrays["targets"][nearest].mean(1))


def _predict_mlp(arrays: Mapping[str, Array], x: Array) -> Array:
    """Return the output of linear layers with ReLU between them."""
    last = sum(name.startswith("weight") for name in arrays) - 1
    for number in range(last + 1):
        x = x @ arrays[f"weight{number}"] + arrays[f"bias{number}"]
        x = x if number == last else np.maximum(x, 0.0)
    return x[:, 0]


_PREDICTORS: dict[str, tuple[_PredictFunction, frozenset[str] | None]] = {
    "trees": (_predict_trees, frozenset({"roots", "feature", "threshold", "left", "right", "value", "base", "scale"})),
    "rbf": (_predict_rbf, frozenset({"support", "dual", "gamma", "base"})),
    "knn": (_predict_knn, frozenset({"points", "targets", "k"})),
    "mlp": (_predict_mlp, None),
}
"""Prediction function and array names of each kind; None for a network, whose arrays depend on its layers."""


class Regressor:
    """Predicts a number from features.

    Args:
        kind: One of `_PREDICTORS`.
        arrays: Parameters of the prediction function.
        mean: Mean of the target.
        scale: Standard deviation of the target.

    Raises:
        ValueError: If the kind is unknown, an array is missing, or a number is not finite.
    """

    def __init__(self, kind: str, arrays: Mapping[str, Array], mean: float = 0.0, scale: float = 1.0) -> None:
        check_choice("kind", kind, _PREDICTORS)
        names = _PREDICTORS[kind][1]
        if names is not None and (wrong := sorted(names ^ set(arrays))):
            raise ValueError(f"Expected the arrays of {kind} but {wrong[0]!r} is missing or unknown.")
        if invalid := next((name for name, value in arrays.items() if not np.isfinite(value).all()), None):
            raise ValueError(f"Expected {invalid!r} to hold finite numbers only.")
        self.kind = kind
        self.arrays = dict(arrays)
        self.mean = float(mean)
        self.scale = float(scale)

    def predict(self, features: Array) -> Array:
        """Return (n,) float64 predictions from (n, d) features."""
        x = np.asarray(features, dtype=np.float64)
        predict = _PREDICTORS[self.kind][0]
        starts = range(0, len(x), _PREDICT_BATCH_SIZE)
        parts = [predict(self.arrays, x[start : start + _PREDICT_BATCH_SIZE]) for start in starts]
        return np.asarray(self.mean + self.scale * np.concatenate([np.empty(0), *parts]))

    def fingerprint(self) -> str:
        """Return a hash of everything that determines the predictions."""
        return fingerprint(self.kind, self.mean, self.scale, self.arrays)

    def save(self, path: str | Path) -> None:
        """Write the regressor as safetensors."""
        metadata = {"format": FORMAT, "kind": self.kind, "mean": repr(self.mean), "scale": repr(self.scale)}
        arrays = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in self.arrays.items()}
        save_tensors(path, arrays, metadata=metadata)

    @classmethod
    def load(cls, path: str | Path) -> Regressor:
        """Load a regressor written by `save`.

        Raises:
            InputError: If the file is missing, damaged or not a regressor.
        """
        metadata = load_metadata(path)
        if metadata.get("format") != FORMAT:
            raise InputError(f"{path}: Expected a regressor of format {FORMAT} but got {metadata.get('format')!r}.")
        arrays = {name: value.numpy() for name, value in load_tensors(path).items()}
        with config_errors(path):
            return cls(metadata["kind"], arrays, float(metadata["mean"]), float(metadata["scale"]))
