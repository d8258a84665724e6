"""Calibration of a model's outputs: rewards to expected error counts, predicted to expected finding weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from radreward.criteria import finding_quality
from radreward.errors import InputError
from radreward.extras import require_packages

_MAX_KNOTS = 64
MAX_SLOPE = 2.0
"""Largest change of a calibrated finding weight per predicted one."""


class Calibration:
    """Per criterion, a decreasing curve from reward to expected errors: linear between knots, constant outside.

    A fitted curve extends below the lowest reward of the data, by the range of the data.

    Args:
        curves: Knots (reward, errors) per criterion, with increasing rewards and non-increasing errors.

    Raises:
        InputError: If a curve is empty, not monotone or not finite.

    >>> Calibration([[(-1.0, 2.0), (0.0, 0.0)]]).predict_counts(torch.tensor([[-0.5], [3.0]]))
    tensor([[1.],
            [0.]])
    """

    def __init__(self, curves: Sequence[Sequence[tuple[float, float]]]) -> None:
        self.curves = [np.asarray(curve, dtype=np.float64).reshape(-1, 2) for curve in curves]
        for number, curve in enumerate(self.curves):
            steps = np.diff(curve, axis=0)
            if not len(curve) or not np.isfinite(curve).all() or (steps[:, 0] <= 0).any() or (steps[:, 1] > 0).any():
                raise InputError(f"calibration: Expected curve {number} to have knots (reward, errors) that decrease.")

    @classmethod
    def fit(cls, rewards: Tensor, errors: Tensor) -> Calibration:
        """Fit one isotonic regression of error counts on rewards per criterion.

        Args:
            rewards: (n, N) rewards on held-out data.
            errors: (n, N) error counts, in the same order.

        Raises:
            ValueError: If there are no rows, or the shapes differ.
        """
        if rewards.shape != errors.shape or not len(rewards):
            raise ValueError(
                f"Expected rewards and errors of one shape (n, N) but got {rewards.shape}, {errors.shape}."
            )
        columns = zip(rewards.double().numpy().T, errors.double().numpy().T, strict=True)
        return cls([_fit_curve(x, y) for x, y in columns])

    def predict_counts(self, rewards: Tensor) -> Tensor:
        """Return (n, N) expected errors, float32, for (n, N) rewards; NaN remains NaN.

        Raises:
            ValueError: If the number of criteria is not that of the curves.
        """
        if rewards.shape[-1] != len(self.curves):
            raise ValueError(f"Expected rewards of {len(self.curves)} criteria but got {rewards.shape[-1]}.")
        columns = rewards.double().cpu().numpy().T
        counts = [np.interp(x, curve[:, 0], curve[:, 1]) for x, curve in zip(columns, self.curves, strict=True)]
        return torch.from_numpy(np.stack(counts, -1)).float()

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as JSON values."""
        return {"curves": [curve.round(6).tolist() for curve in self.curves]}

    @classmethod
    def from_dict(cls, value: Any) -> Calibration:
        """Return the calibration of `to_dict`.

        Raises:
            InputError: If the value has another form.
        """
        try:
            return cls([[(float(x), float(y)) for x, y in curve] for curve in value["curves"]])
        except InputError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("calibration: Expected curves of knots (reward, errors).") from error


def calibrate_finding_weights(predicted: Tensor, target: Tensor) -> Calibration | None:
    """Fit one increasing curve for the matched weight and one for the wrong weight, with slopes up to `MAX_SLOPE`.

    The wrong weight is 0 for outputs at which at most half of the candidates have an error. Candidates without an error
    thus get quality 1, not almost 1. From there on, it rises without a jump.

    Args:
        predicted: (n, 2) outputs of the model on held-out data.
        target: (n, 2) weights; unknown rows (NaN) are left out.

    Returns:
        Curves over the negative outputs, because a `Calibration` decreases; None if every row is unknown.
    """
    finite = target.isfinite().all(1)
    if not finite.any():
        return None
    matched, wrong = -predicted[finite].double().numpy().T
    matched_weight, wrong_weight = target[finite].double().numpy().T
    wrong_curve = _zero_where_unlikely(_fit_curve(wrong, wrong_weight), wrong, wrong_weight > 0)
    return Calibration([_limit_slope(_fit_curve(matched, matched_weight)), _limit_slope(wrong_curve)])


def calibrated_quality(calibration: Calibration, finding_weights: Tensor) -> Tensor:
    """Return the (n,) quality of candidates from predicted (n, 2) finding weights; see `finding_quality`.

    >>> weights = torch.tensor([[0.5, 0.0], [0.5, 0.25]])
    >>> calibrated_quality(Calibration([[(-1.0, 1.0), (0.0, 0.0)]] * 2), weights)
    tensor([1.0000, 0.7500])
    """
    matched, wrong = calibration.predict_counts(-finding_weights).unbind(-1)
    return finding_quality(matched, wrong)


def _fit_curve(rewards: np.ndarray, errors: np.ndarray) -> list[tuple[float, float]]:
    require_packages("Calibration", "sklearn")
    from sklearn.isotonic import IsotonicRegression  # slow to import and not required for scoring

    fitted = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(rewards, errors)
    x, y = fitted.X_thresholds_, fitted.y_thresholds_
    if len(x) > _MAX_KNOTS:  # the first, the last and evenly many between
        selected = np.unique(np.linspace(0, len(x) - 1, _MAX_KNOTS).round().astype(int))
        x, y = x[selected], y[selected]
    x = np.round(x, 6)  # as saved, so that a reloaded model predicts the same counts
    distinct = np.concatenate([[True], np.diff(x) > 0])
    curve = [(float(a), float(b)) for a, b in zip(x[distinct], np.round(y[distinct], 6), strict=True)]
    return [*_continuation(curve[0], rewards, errors), *curve]


def _continuation(first: tuple[float, float], rewards: np.ndarray, errors: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield a knot below the lowest reward of the data, at the slope of the regression line: counts are unbounded."""
    spread = float(np.ptp(rewards))
    if spread < 1e-3:  # too small to estimate a slope
        return
    slope = float(np.polyfit(rewards, errors, 1)[0])
    if slope < 0:
        yield round(first[0] - spread, 6), round(first[1] - slope * spread, 6)


def _zero_where_unlikely(
    curve: Sequence[tuple[float, float]], rewards: np.ndarray, has_errors: np.ndarray
) -> list[tuple[float, float]]:
    """Return the curve, set to 0 where the isotonic share of candidates with errors is at most a half."""
    from sklearn.isotonic import IsotonicRegression

    shares = IsotonicRegression(increasing=False).fit_transform(rewards, has_errors)
    if shares.min() > 0.5:
        return list(curve)
    first_right = round(float(rewards[shares <= 0.5].min()), 6)
    return [*(knot for knot in curve if knot[0] < first_right), (first_right, 0.0)]


def _limit_slope(curve: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a decreasing curve at or below the given one, which falls by at most `MAX_SLOPE` per reward.

    A knot (x, f(x)) becomes min_y f(y) + MAX_SLOPE · |x - y|, over all knots y. The curve thus has no jump.

    >>> _limit_slope([(-2.0, 5.0), (-1.0, 0.5), (-0.5, 0.5), (0.0, 0.0)])
    [(-2.0, 2.5), (-1.0, 0.5), (-0.5, 0.5), (0.0, 0.0)]
    """
    limited = [curve[-1]]
    for reward, errors in reversed(curve[:-1]):
        right, least = limited[-1]
        limited.append((reward, min(errors, round(least + MAX_SLOPE * (right - reward), 6))))
    return limited[::-1]
