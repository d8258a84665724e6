"""Settings on TensorBoard's HPARAMS page."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from radreward.modules.hparams import FlatSettings, flatten_settings, log_hparams


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


def _logged(folder: Path, searched: FlatSettings | None) -> tuple[EventAccumulator, Any]:
    """Log settings, and return the events with the data of the HPARAMS page by tag."""
    board = TensorBoardLogger(folder, name="", version="logs")
    log_hparams(board, {"model.lr": 0.5, "model.name": "tiny"}, ["val/tau_total"], searched)
    events = EventAccumulator(str(folder / "logs")).Reload()
    contents = {
        tag: plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
        for tag, metadata in events.summary_metadata.items()
    }
    return events, contents


def test_log_hparams_writes_settings_without_metric_values(tmp_path: Path) -> None:
    events, contents = _logged(tmp_path, None)
    hparams = contents["_hparams_/session_start_info"].session_start_info.hparams
    assert {name: value.number_value or value.string_value for name, value in hparams.items()} == {
        "model.lr": 0.5, "model.name": "tiny",
    }  # fmt: skip
    assert "_hparams_/experiment" not in contents  # TensorBoard then compares all runs, and lists differences first
    assert events.Tags()["scalars"] == []


def test_log_hparams_of_a_trial_lists_searched_settings_first(tmp_path: Path) -> None:
    _, contents = _logged(tmp_path, {"model.other": 1, "model.name": "mini"})
    experiment = contents["_hparams_/experiment"].experiment
    assert [(info.name, info.differs) for info in experiment.hparam_infos] == [
        ("model.other", True), ("model.name", True), ("model.lr", False),
    ]  # fmt: skip
    assert [metric.name.tag for metric in experiment.metric_infos] == ["val/tau_total"]
