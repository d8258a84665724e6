"""TensorBoard plots, chart definitions and hyperparameters."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

from radreward.modules.tensorboard import (
    MAX_POINTS,
    add_custom_scalars,
    flatten_settings,
    log_hparams,
    plot_calibration,
    plot_learning_curves,
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


def test_plot_learning_curves_has_one_named_curve_per_criterion() -> None:
    figure = plot_learning_curves({"wrong_place": [(1, 0.5), (2, 0.25)], "total": [(1, float("nan")), (2, 1.0)]}, "tau")
    assert [line.get_label() for line in figure.axes[0].lines] == ["wrong place", "total"]
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == [0.5, 0.25]


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


def test_flatten_settings_represents_classes_by_name() -> None:
    settings = {"model": {"class_path": "a.b.Module", "init_args": {"objective": {"class_path": "c.Loss"}}}}
    assert flatten_settings(settings) == {"model": "Module", "model.objective": "Loss"}


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers())
names = st.text(st.characters(codec="ascii", exclude_characters="."), min_size=1)


@given(st.recursive(st.dictionaries(names, leaves), lambda inner: st.dictionaries(names, inner | leaves), max_leaves=9))
def test_flatten_settings_keeps_every_setting_that_is_not_null(settings: dict[str, Any]) -> None:
    flat = flatten_settings(settings)

    def look(name: str) -> Any:
        value: Any = settings
        for part in name.split("."):
            value = value[part]
        return value

    def count(value: Any) -> int:
        return sum(map(count, value.values())) if isinstance(value, dict) else value is not None

    assert len(flat) == count(settings)
    for name, value in flat.items():
        expected = look(name)
        assert value == (str(expected) if isinstance(expected, list) else expected)


def test_log_hparams_writes_settings_without_metric_values(tmp_path: Path) -> None:
    board = TensorBoardLogger(tmp_path, name="", version="logs")
    log_hparams(board, {"model": {"lr": 0.5, "name": "tiny"}}, ["val/tau_total"])
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    hparams = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert hparams["model.lr"].number_value == 0.5
    assert hparams["model.name"].string_value == "tiny"
    content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
    metrics = plugin_data_pb2.HParamsPluginData.FromString(content).experiment.metric_infos
    assert [metric.name.tag for metric in metrics] == ["val/tau_total"]
    assert events.Tags()["scalars"] == []
