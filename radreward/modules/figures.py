"""What TensorBoard shows besides curves: the settings of a run, and rewards against errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.figure
import numpy as np
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.utils.tensorboard.summary import hparams

POINTS = 2000


def reward_error_scatter(rewards: Tensor, errors: Tensor, tags: Sequence[str]) -> matplotlib.figure.Figure:
    """Reward against known errors, a panel per criterion.

    Args:
        rewards: (n, N); of more than 2,000 an even share is drawn.
        errors: (n, N).
        tags: Names of the N criteria.
    """
    step = -(-len(rewards) // POINTS)
    rewards, errors = rewards[::step].float().cpu(), errors[::step].float().cpu()
    columns = min(3, len(tags))
    lines = -(-len(tags) // columns)
    figure = matplotlib.figure.Figure(figsize=(4 * columns, 3 * lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns, squeeze=False)).ravel()
    jitter = np.random.default_rng(0).uniform(-0.15, 0.15, len(rewards))  # counts are whole: points would hide
    for axis, tag, x, y in zip(axes, tags, errors.T, rewards.T, strict=False):
        axis.scatter(x.numpy() + jitter, y.numpy(), s=6, alpha=0.3)
        axis.set_title(tag.replace("_", " "), fontsize=9)
        axis.set_xlabel("known errors", fontsize=8)
        axis.set_ylabel("reward", fontsize=8)
    for axis in axes[len(tags) :]:
        axis.set_visible(False)
    return figure


def log_settings(board: TensorBoardLogger, settings: Mapping[str, Any], metrics: Sequence[str]) -> None:
    """Settings for the page HPARAMS, at the start of a run: its columns of metrics fill from scalars as they come.

    (`SummaryWriter.add_hparams` writes scalars too, which are not known yet, and a folder of its own.)

    Args:
        board: The logger.
        settings: By name, nested or not.
        metrics: Names of the scalars to compare runs by.
    """
    writer = board.experiment._get_file_writer()  # as Lightning's loggers do: the public way adds a folder
    make: Any = hparams  # torch gives it no types
    for summary in make(flat(settings), dict.fromkeys(metrics, 0.0)):
        writer.add_summary(summary)
    writer.flush()


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, bool | float | str]:
    """Nested settings by dotted names as on the command line, without those that are null; what is no number is text.

    >>> flat({"model": {"init_args": {"hidden": 4, "backbone": {"name": "embedded", "lora": None}}}, "unit": [1, 0.5]})
    {'model.hidden': 4, 'model.backbone.name': 'embedded', 'unit': '[1, 0.5]'}
    """
    found: dict[str, bool | float | str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, prefix if name == "init_args" else f"{prefix}{name}.")
        elif value is not None:
            found[prefix + name] = value if isinstance(value, bool | int | float | str) else str(value)
    return found
