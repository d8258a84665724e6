"""Calibration is monotone, within the fitted range, and equals scikit-learn's isotonic regression."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from radreward.errors import InputError
from radreward.models import Calibration, load_reward_model
from radreward.models.calibration import MAX_SLOPE, calibrate_finding_weights, calibrated_quality
from radreward.systems.er2score.scorer import EMBEDDED_DIR

POINTS = st.lists(st.tuples(st.floats(-50, 50), st.integers(0, 6)), min_size=1, max_size=150)


def _fit(points: list[tuple[float, int]]) -> tuple[Calibration, torch.Tensor]:
    values = torch.tensor(points, dtype=torch.float64)
    return Calibration.fit(values[:, :1], values[:, 1:]), values


@given(POINTS, st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_predict_counts_decreases_within_the_fitted_range(
    points: list[tuple[float, int]], queries: list[float]
) -> None:
    calibration, values = _fit(points)
    rewards = torch.tensor(sorted(queries), dtype=torch.float64)
    counts = calibration.predict_counts(rewards.unsqueeze(1))[:, 0]
    assert (counts.diff() <= 1e-6).all()
    assert (counts >= values[:, 1].min() - 1e-5).all()
    assert (counts[rewards >= values[:, 0].min()] <= values[:, 1].max() + 1e-4).all()
    assert len(calibration.curves[0]) <= 65


def test_counts_continue_at_the_slope_of_the_regression_line() -> None:
    generator = np.random.default_rng(0)
    errors = generator.integers(0, 5, (400, 1)).astype(float)
    rewards = -2 * errors + generator.normal(0, 0.5, errors.shape)
    calibration = Calibration.fit(torch.tensor(rewards), torch.tensor(errors))
    slope = np.cov(rewards[:, 0], errors[:, 0], bias=True)[0, 1] / rewards.var()
    worst, spread = rewards.min(), np.ptp(rewards)
    counts = calibration.predict_counts(torch.tensor([[worst], [worst - spread / 2], [worst - spread], [-1e3]]))[:, 0]
    at_worst = float(counts[0])
    expected = [at_worst, at_worst - slope * spread / 2, *[at_worst - slope * spread] * 2]
    np.testing.assert_allclose(counts.numpy(), expected, atol=1e-3)


def test_predict_counts_equals_isotonic_regression() -> None:
    generator = np.random.default_rng(0)
    errors = generator.integers(0, 5, (40, 2)).astype(float)
    rewards = -errors + generator.normal(0, 1, errors.shape)
    counts = Calibration.fit(torch.tensor(rewards), torch.tensor(errors)).predict_counts(torch.tensor(rewards))
    for column in range(2):
        expected = IsotonicRegression(increasing=False).fit_transform(rewards[:, column], errors[:, column])
        np.testing.assert_allclose(counts[:, column].numpy(), expected, atol=1e-3)


def test_predict_counts_constant_criterion_and_nan() -> None:
    calibration = Calibration.fit(torch.tensor([[0.0], [1.0], [2.0]]), torch.full((3, 1), 2.0))
    counts = calibration.predict_counts(torch.tensor([[-9.0], [1.5], [torch.nan]]))
    assert counts[:2].tolist() == [[2.0], [2.0]]
    assert counts[2].isnan()


@given(POINTS)
def test_from_dict_restores_equal_counts(points: list[tuple[float, int]]) -> None:
    calibration, values = _fit(points)
    again = Calibration.from_dict(json.loads(json.dumps(calibration.to_dict())))
    assert torch.equal(again.predict_counts(values[:, :1]), calibration.predict_counts(values[:, :1]))


@pytest.mark.parametrize("value", [None, {}, {"curves": [[]]}, {"curves": [[[0, 0], [1, 1]]]}, {"curves": [["ab"]]}])
def test_from_dict_invalid_value_raises(value: object) -> None:
    with pytest.raises(InputError, match="calibration"):
        Calibration.from_dict(value)


def test_wrong_shapes_raise() -> None:
    with pytest.raises(ValueError, match="one shape"):
        Calibration.fit(torch.zeros(2, 1), torch.zeros(3, 1))
    with pytest.raises(ValueError, match="1 criteria"):
        Calibration([[(0.0, 0.0)]]).predict_counts(torch.zeros(2, 3))


def test_knots_are_those_of_isotonic_regression_without_jumps() -> None:
    generator = np.random.default_rng(1)
    target = generator.uniform(0, 2, (60, 2))
    predicted = target + generator.normal(0, 0.3, target.shape)
    target[5] = np.nan
    calibration = calibrate_finding_weights(torch.tensor(predicted), torch.tensor(target))
    assert calibration is not None
    known = np.delete(np.arange(60), 5)
    for curve, x, y in zip(calibration.curves, predicted[known].T, target[known].T, strict=True):
        isotonic = IsotonicRegression().fit_transform(x, y)
        knots = curve[-curve[:, 0] <= x.max() + 1e-6]
        # min_j y_j + MAX_SLOPE · |x - x_j|: the largest values below the points without a jump.
        expected = np.min(isotonic + MAX_SLOPE * np.abs(-knots[:, :1] - x), axis=1)
        np.testing.assert_allclose(knots[:, 1], expected, atol=1e-4)
    weights = calibration.predict_counts(torch.tensor(-predicted)).numpy().T
    quality = calibrated_quality(calibration, torch.tensor(predicted))
    np.testing.assert_allclose(quality.numpy(), (weights[0] + 0.25) / (weights[0] + 0.25 + weights[1]), atol=1e-6)


@given(st.lists(st.tuples(st.floats(-3, 3), st.sampled_from([0.0, 0.0, 0.25, 1.0])), min_size=1, max_size=80))
def test_wrong_weight_rises_from_zero_without_a_jump(points: list[tuple[float, float]]) -> None:
    outputs, weights = (torch.tensor(column, dtype=torch.float64) for column in zip(*points, strict=True))
    outputs = (outputs * 1e4).round() / 1e4
    calibration = calibrate_finding_weights(outputs[:, None].expand(-1, 2), weights[:, None].expand(-1, 2))
    assert calibration is not None
    assert Calibration.from_dict(json.loads(json.dumps(calibration.to_dict()))).to_dict() == calibration.to_dict()
    wrong = calibration.predict_counts(-outputs[:, None].expand(-1, 2))[:, 1]
    shares = IsotonicRegression().fit_transform(outputs.numpy(), (weights > 0).numpy())
    assert (wrong[torch.from_numpy(shares) <= 0.5] == 0).all()
    steps = torch.linspace(-7, 7, 7001, dtype=torch.float64)
    for curve in calibration.predict_counts(-steps[:, None].expand(-1, 2)).T:
        assert (curve.diff() >= 0).all()
        assert (curve.diff() <= MAX_SLOPE * 0.002 + 1e-4).all()


def test_shipped_finding_weights_have_no_jump() -> None:
    calibration = load_reward_model(EMBEDDED_DIR).finding_weights_calibration
    assert calibration is not None
    for curve in calibration.curves:
        assert (-np.diff(curve[:, 1]) <= MAX_SLOPE * np.diff(curve[:, 0]) + 1e-5).all()


def test_calibrate_finding_weights_without_known_weights_gives_none() -> None:
    assert calibrate_finding_weights(torch.zeros(3, 2), torch.full((3, 2), torch.nan)) is None
