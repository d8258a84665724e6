"""What TensorBoard is given."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from radreward.modules import log_settings
from radreward.modules.figures import POINTS, flat, reward_error_scatter


@pytest.mark.parametrize("criteria", [1, 2, 4])
def test_a_scatter_has_a_panel_for_each_criterion(criteria: int) -> None:
    rewards, errors = torch.randn(10, criteria), torch.randint(0, 3, (10, criteria)).float()
    tags = [f"tag_{j}" for j in range(criteria)]
    shown = [axis for axis in reward_error_scatter(rewards, errors, tags).axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == [tag.replace("_", " ") for tag in tags]
    for j, axis in enumerate(shown):
        points = torch.from_numpy(np.asarray(axis.collections[0].get_offsets()))
        torch.testing.assert_close(points[:, 1].float(), rewards[:, j])
        assert (points[:, 0] - errors[:, j]).abs().max() <= 0.15


def test_of_many_points_an_even_share_is_drawn() -> None:
    rewards = torch.arange(5 * POINTS + 1.0)[:, None]
    points = np.asarray(reward_error_scatter(rewards, rewards, ["a"]).axes[0].collections[0].get_offsets())
    assert POINTS // 2 < len(points) <= POINTS
    assert points[:, 1].max() > 0.99 * rewards.max()


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers())
names = st.text(st.characters(codec="ascii", exclude_characters="."), min_size=1)


@given(st.recursive(st.dictionaries(names, leaves), lambda inner: st.dictionaries(names, inner | leaves), max_leaves=9))
def test_every_setting_that_is_not_null_has_one_name(settings: dict[str, Any]) -> None:
    found = flat(settings)

    def look(name: str) -> Any:
        value: Any = settings
        for part in name.split("."):
            value = value[part]
        return value

    def count(value: Any) -> int:
        return sum(map(count, value.values())) if isinstance(value, dict) else value is not None

    assert len(found) == count(settings)
    for name, value in found.items():
        expected = look(name)
        assert value == (str(expected) if isinstance(expected, list) else expected)


def test_settings_are_on_the_page_of_hyperparameters_without_values_for_metrics(tmp_path: Path) -> None:
    board = TensorBoardLogger(tmp_path, name="", version="logs")
    log_settings(board, {"model": {"lr": 0.5, "name": "tiny"}}, ["val/tau_total"])
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    kept = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert kept["model.lr"].number_value == 0.5
    assert kept["model.name"].string_value == "tiny"
    content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
    metrics = plugin_data_pb2.HParamsPluginData.FromString(content).experiment.metric_infos
    assert [metric.name.tag for metric in metrics] == ["val/tau_total"]
    assert events.Tags()["scalars"] == []
