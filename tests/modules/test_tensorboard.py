"""TensorBoard plots, chart definitions, precision and recall."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.util import tensor_util

from radreward.criteria import Criteria, Criterion
from radreward.modules.tensorboard import (
    MAX_POINTS,
    add_custom_scalars,
    log_pr_curves,
    plot_calibration,
)


def test_plot_calibration_shows_candidates_curve_and_means() -> None:
    torch.manual_seed(0)
    rewards = torch.randn(50)
    errors = (rewards < 0).float()
    axis = plot_calibration(rewards, errors).axes[0]
    points = torch.from_numpy(np.asarray(axis.collections[0].get_offsets()))
    torch.testing.assert_close(points[:, 0].float(), rewards)
    assert (points[:, 1] - errors).abs().max() <= 0.15
    expected, means, *_ = axis.lines
    assert np.asarray(expected.get_ydata()).tolist()[0] == 1
    assert np.asarray(means.get_ydata()).mean() == pytest.approx(float(errors.mean()))
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("reward", "errors")


def test_plot_calibration_of_one_candidate() -> None:
    assert plot_calibration(torch.zeros(1), torch.ones(1)).axes


def test_plot_calibration_of_many_candidates_draws_even_share() -> None:
    rewards = torch.arange(5 * MAX_POINTS + 1.0)
    points = np.asarray(plot_calibration(rewards, rewards).axes[0].collections[0].get_offsets())
    assert MAX_POINTS // 2 < len(points) <= MAX_POINTS
    assert points[:, 1].max() > 0.99 * rewards.max()


def test_custom_scalars_charts_match_logged_names(tmp_path: Path) -> None:
    board = TensorBoardLogger(tmp_path, name="", version="logs")
    add_custom_scalars(board.experiment, ["a", "b_c"], dynamic_weights=True)
    board.experiment.flush()
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    (event,) = events.Tensors("custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(event.tensor_proto.string_val[0])
    names = {
        "val/tau_a", "val/tau_total", "val/pairs_b_c", "margin/a", "train/loss", "train/individual/a",
        "train/MarginRewardEnforcement/weight/a", "train/f1/b_c",
    }  # fmt: skip
    patterns = [tag for category in layout.category for chart in category.chart for tag in chart.multiline.tag]
    assert all(any(re.search(pattern, name) for pattern in patterns) for name in names)
    assert not any(re.search(pattern, "val/spearman_a") for pattern in patterns)


def test_pr_curves_have_precision_and_recall_over_thresholds(tmp_path: Path) -> None:
    torch.manual_seed(0)
    kinds = [Criterion("a b", "A."), Criterion("never", "N."), Criterion("stars", "S.", "rating")]
    rewards, errors = torch.randn(200, 3), torch.randint(0, 3, (200, 3)).float()
    errors[:, 1] = 0
    board = TensorBoardLogger(tmp_path, name="", version="logs")
    log_pr_curves(board.experiment, Criteria("made up", kinds), rewards, errors, 7)
    board.experiment.flush()
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    assert events.PluginTagToContent("pr_curves").keys() == {"errors/a_b"}  # neither without errors nor of a rating
    (event,) = events.Tensors("errors/a_b")
    assert event.step == 7
    *_, precision, recall = tensor_util.make_ndarray(event.tensor_proto)
    scores = [sum(float(other) >= float(value) for other in rewards[:, 0]) / 200 for value in rewards[:, 0]]
    has_error = [value > 0 for value in errors[:, 0].tolist()]
    for index, threshold in enumerate(np.linspace(0, 1, len(recall))):
        flagged = [label for label, score in zip(has_error, scores, strict=True) if score >= threshold - 1e-9]
        if abs(threshold * 200 - round(threshold * 200)) > 1e-6 and flagged:  # not on the edge of a bin
            assert recall[index] == pytest.approx(sum(flagged) / sum(has_error), abs=1e-4)
            assert precision[index] == pytest.approx(sum(flagged) / len(flagged), abs=1e-4)
