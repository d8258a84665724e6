"""Settings of runs on TensorBoard's HPARAMS page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from torch.utils.tensorboard.summary import hparams

FlatSettings = Mapping[str, bool | float | str]
"""Dotted name → value."""


def log_hparams(
    logger: TensorBoardLogger, settings: FlatSettings, metrics: Sequence[str], searched: FlatSettings | None = None
) -> None:
    """Log settings for the HPARAMS page at the start of a run; metric columns fill as the scalars are logged.

    Without `searched`, TensorBoard compares all runs in its folder, and puts the settings that differ first. With
    `searched`, the run is a trial: searched settings come first, also those of other trials, then the other settings,
    then `metrics` only. (`SummaryWriter.add_hparams` would also write scalars, whose values are not known yet, and a
    separate folder.)

    Args:
        logger: The logger of the run.
        settings: Settings of the run.
        metrics: Names of the scalars that compare trials.
        searched: Settings that the study searches, each with one of its values.
    """
    writer = logger.experiment._get_file_writer()  # as in Lightning's loggers: the public method adds a folder
    build_summaries: Any = hparams  # untyped in torch
    _, *session = build_summaries(dict(settings), {})
    if searched is not None:
        writer.add_summary(_experiment_summary(settings, metrics, searched))
    for summary in session:
        writer.add_summary(summary)
    writer.flush()


def _experiment_summary(settings: FlatSettings, metrics: Sequence[str], searched: FlatSettings) -> Any:
    infos = [
        api_pb2.HParamInfo(name=name, type=_data_type(value), differs=name in searched)
        for name, value in {**searched, **settings}.items()
    ]
    metric_infos = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metric_infos)
    content = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(experiment=experiment))
    value = Summary.Value(tag=metadata.EXPERIMENT_TAG, metadata=content, tensor=metadata.NULL_TENSOR)
    return Summary(value=[value])


def _data_type(value: bool | float | str) -> Any:
    """Return the type of a value as torch stores it: a truth value is a number."""
    return api_pb2.DATA_TYPE_STRING if isinstance(value, str) else api_pb2.DATA_TYPE_FLOAT64


def flatten_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, bool | float | str]:
    """Return nested settings by dotted names, as on the command line; null is dropped, other types become text.

    A class is represented by its name, under the name of the setting.

    >>> backbone = {"name": "embedded", "lora": None}
    >>> flatten_settings({"model": {"init_args": {"backbone": backbone, "head_hidden_size": 4}}, "unit": [1, 0.5]})
    {'model.backbone.name': 'embedded', 'model.head_hidden_size': 4, 'unit': '[1, 0.5]'}
    """
    flat: dict[str, bool | float | str] = {}
    for name, value in settings.items():
        if name == "class_path" and prefix:
            flat[prefix.removesuffix(".")] = str(value).rpartition(".")[2]
        elif isinstance(value, Mapping):
            flat |= flatten_settings(value, prefix if name == "init_args" else f"{prefix}{name}.")
        elif value is not None:
            flat[prefix + name] = value if isinstance(value, bool | int | float | str) else str(value)
    return flat
