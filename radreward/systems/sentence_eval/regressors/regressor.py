"""A fitted regressor as arrays: it predicts without scikit-learn, and is kept without pickle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from radreward.errors import InputError

Array = NDArray[Any]
PredictFunction = Callable[[Mapping[str, Array], Array], Array]
PREDICT_BATCH_SIZE = 512
"""Rows that are predicted at a time."""
FORMAT = "radreward.regressor.1"


def _predict_trees(arrays: Mapping[str, Array], x: Array) -> Array:
    """The base and scale · Σ over trees of the leaf's value."""
    feature, threshold, left, right = (arrays[name] for name in ("feature", "threshold", "left", "right"))
    x = x.astype(np.float32)  # thresholds are meant for float32, as scikit-learn compares them
    at = np.broadcast_to(arrays["roots"], (len(x), len(arrays["roots"])))  # (n, trees) nodes
    rows = np.arange(len(x))[:, None]
    while (inner := left[at] >= 0).any():
        down = np.where(x[rows, feature[at]] <= threshold[at], left[at], right[at])
        at = np.where(inner, down, at)
    total: Array = arrays["base"] + arrays["scale"] * arrays["value"][at].sum(1)
    return total


def _predict_rbf(arrays: Mapping[str, Array], x: Array) -> Array:
    """The base and Σ dual · exp(-γ |x - support|²)."""
    squares = ((x[:, None] - arrays["support"]) ** 2).sum(2)
    total: Array = np.exp(-arrays["gamma"] * squares) @ arrays["dual"] + arrays["base"]
    return total


def _predict_knn(arrays: Mapping[str, Array], x: Array) -> Array:
    """The mean target of the k nearest; of those as near, the first."""
    squares = ((x[:, None] - arrays["points"]) ** 2).sum(2)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, : arrays["k"].item()]
    mean: Array = arrays["targets"][nearest].mean(1)
    return mean


def _predict_mlp(arrays: Mapping[str, Array], x: Array) -> Array:
    """Layers with rectifiers between them."""
    last = sum(name.startswith("weight") for name in arrays) - 1
    for number in range(last + 1):
        x = x @ arrays[f"weight{number}"] + arrays[f"bias{number}"]
        x = x if number == last else np.maximum(x, 0.0)
    return x[:, 0]


PREDICTORS: dict[str, tuple[PredictFunction, frozenset[str] | None]] = {
    "trees": (_predict_trees, frozenset({"roots", "feature", "threshold", "left", "right", "value", "base", "scale"})),
    "kernel": (_predict_rbf, frozenset({"support", "dual", "gamma", "base"})),
    "neighbours": (_predict_knn, frozenset({"points", "targets", "k"})),
    "layers": (_predict_mlp, None),
}
"""How each kind predicts, and which arrays it needs; a neural network as many as it has layers."""


class Regressor:
    """Predicts a number from features.

    Args:
        kind: One of `KINDS`.
        arrays: What it is made of.
        mean: Added to what the arrays predict, after `scale`.
        scale: Of the target that it was fitted to.

    Raises:
        ValueError: If the kind is unknown, an array is missing, or a number is not finite.
    """

    def __init__(self, kind: str, arrays: Mapping[str, Array], mean: float = 0.0, scale: float = 1.0) -> None:
        if kind not in PREDICTORS:
            raise ValueError(f"Expected `kind` to be one of {', '.join(PREDICTORS)} but got {kind!r}.")
        needed = PREDICTORS[kind][1]
        if needed is not None and (wrong := sorted(needed ^ set(arrays))):
            raise ValueError(f"Expected the arrays of {kind} but {wrong[0]!r} is missing or unknown.")
        if broken := next((name for name, value in arrays.items() if not np.isfinite(value).all()), None):
            raise ValueError(f"Expected {broken!r} to hold finite numbers only.")
        self.kind, self.arrays, self.mean, self.scale = kind, dict(arrays), float(mean), float(scale)

    def predict(self, features: Array) -> Array:
        """(n,) float64 from (n, d) features."""
        x = np.asarray(features, dtype=np.float64)
        predict = PREDICTORS[self.kind][0]
        parts = [
            predict(self.arrays, x[begin : begin + PREDICT_BATCH_SIZE])
            for begin in range(0, len(x), PREDICT_BATCH_SIZE)
        ]
        found: Array = self.mean + self.scale * np.concatenate([np.empty(0), *parts])
        return found

    def fingerprint(self) -> str:
        """sha256 of all that it predicts by."""
        digest = hashlib.sha256(f"{self.kind} {self.mean!r} {self.scale!r}".encode())
        for name, value in sorted(self.arrays.items()):
            digest.update(f"{name} {value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write it as safetensors."""
        about = {"format": FORMAT, "kind": self.kind, "mean": repr(self.mean), "scale": repr(self.scale)}
        save_file({name: np.ascontiguousarray(value) for name, value in self.arrays.items()}, path, about)

    @classmethod
    def load(cls, path: str | Path) -> Regressor:
        """Read what `save` wrote.

        Raises:
            InputError: If it is no such file; names it.
        """
        try:
            with safe_open(path, "np") as file:
                about = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
            if about.get("format") != FORMAT:
                raise ValueError(f"expected the format {FORMAT} but got {about.get('format')!r}")
            return cls(about["kind"], arrays, float(about["mean"]), float(about["scale"]))
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise InputError(f"{path}: Expected a regressor ({error}).") from error
