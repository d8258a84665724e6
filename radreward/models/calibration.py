"""From rewards, of which the loss fixes only differences, to expected numbers of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from radreward.errors import InputError

MAX_KNOTS = 64


class Calibration:
    """Per criterion, a falling curve from reward to expected errors: straight lines between knots, flat outside.

    Args:
        curves: Per criterion, knots (reward, errors), rewards rising and errors not rising.

    Raises:
        InputError: If a curve is empty or not monotone, or holds what is not a finite number.

    >>> Calibration([[(-1.0, 2.0), (0.0, 0.0)]]).counts(torch.tensor([[-0.5], [3.0]]))
    tensor([[1.],
            [0.]])
    """

    def __init__(self, curves: Sequence[Sequence[tuple[float, float]]]) -> None:
        self.curves = [np.asarray(curve, dtype=np.float64).reshape(-1, 2) for curve in curves]
        for number, curve in enumerate(self.curves):
            steps = np.diff(curve, axis=0)
            if not len(curve) or not np.isfinite(curve).all() or (steps[:, 0] <= 0).any() or (steps[:, 1] > 0).any():
                raise InputError(f"calibration: Expected curve {number} to be knots (reward, errors) that fall.")

    @classmethod
    def fit(cls, rewards: Tensor, errors: Tensor) -> Calibration:
        """Isotonic regression of known errors on rewards, criterion by criterion.

        Args:
            rewards: (n, N) rewards on data that was not trained on.
            errors: (n, N) known errors, same order.

        Raises:
            ValueError: If there is nothing to fit on, or the shapes differ.
        """
        if rewards.shape != errors.shape or not len(rewards):
            raise ValueError(
                f"Expected rewards and errors of one shape (n, N) but got {rewards.shape}, {errors.shape}."
            )
        pairs = zip(rewards.double().numpy().T, errors.double().numpy().T, strict=True)
        return cls([_fit_curve(x, y) for x, y in pairs])

    def predict_counts(self, rewards: Tensor) -> Tensor:
        """(n, N) rewards to (n, N) expected errors, float32; NaN stays NaN.

        Raises:
            ValueError: If the number of criteria is not that of the curves.
        """
        if rewards.shape[-1] != len(self.curves):
            raise ValueError(f"Expected rewards of {len(self.curves)} criteria but got {rewards.shape[-1]}.")
        columns = rewards.double().cpu().numpy().T
        counts = [np.interp(x, curve[:, 0], curve[:, 1]) for x, curve in zip(columns, self.curves, strict=True)]
        return torch.from_numpy(np.stack(counts, -1)).float()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"curves": [curve.round(6).tolist() for curve in self.curves]}

    @classmethod
    def from_dict(cls, value: Any) -> Calibration:
        """From plain values.

        Raises:
            InputError: If they are not those of `to_dict`.
        """
        try:
            return cls([[(float(x), float(y)) for x, y in curve] for curve in value["curves"]])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("calibration: Expected curves of knots (reward, errors).") from error


def _fit_curve(rewards: np.ndarray, errors: np.ndarray) -> list[tuple[float, float]]:
    from sklearn.isotonic import IsotonicRegression  # slow to import, and a model in use does without

    fitted = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(rewards, errors)
    x, y = fitted.X_thresholds_, fitted.y_thresholds_
    if len(x) > MAX_KNOTS:  # keep the ends and evenly many between: straight lines stay within the seen errors
        keep = np.unique(np.linspace(0, len(x) - 1, MAX_KNOTS).round().astype(int))
        x, y = x[keep], y[keep]
    x = np.round(x, 6)  # as stored, so that a reloaded model counts alike
    kept = np.concatenate([[True], np.diff(x) > 0])
    return [(float(a), float(b)) for a, b in zip(x[kept], np.round(y[kept], 6), strict=True)]
