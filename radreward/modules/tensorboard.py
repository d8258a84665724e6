"""What TensorBoard shows besides single curves: settings, curves side by side, how rewards separate and count."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.figure
import numpy as np
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from radreward.models import Calibration

MAX_POINTS = 2000
NUM_BINS = 10
JITTER = 0.15
FIGURE_SIZE = (4.0, 3.4)
"""Inches; larger figures are shown so small that nothing in them can be read."""


def pair_margins(rewards: Tensor, quality: Tensor, group: Tensor) -> Tensor:
    """By how much the better of two candidates is rewarded more: > 0 where the order is right.

    Args:
        rewards: (C, N).
        quality: (C, N).
        group: (C,) which reference; only its candidates are paired.

    Returns:
        (P, N) reward of the better less that of the worse, by criterion; NaN where neither is better.

    >>> import torch
    >>> rewards, quality = torch.tensor([[1.0, 0.0], [0.5, 3.0]]), torch.tensor([[0.0, 0.0], [-1.0, 0.0]])
    >>> margins(rewards, quality, torch.tensor([7, 7]))
    tensor([[0.5000,    nan]])
    """
    first, second = torch.triu((group[:, None] == group[None]), diagonal=1).nonzero().T
    better = (quality[first] - quality[second]).sign()
    return ((rewards[first] - rewards[second]) * better).masked_fill(better == 0, torch.nan)


def add_custom_scalars(writer: SummaryWriter, tags: Sequence[str], dynamic_weights: bool) -> None:
    """Charts of several curves each for the page CUSTOM SCALARS; written once, at the start of a run.

    Runs have colours there, criteria have marks: choose many runs for the first row, one for the others.

    Args:
        board: Of the run.
        tags: Names of the criteria.
        dynamic: Whether weights of criteria change in training.
    """
    criteria = "|".join((*tags, "total"))
    charts = {
        "runs side by side": {
            "Kendall's tau-b of the total": ["Multiline", [r"^val/tau_total$"]],
            "pairs in the right order": ["Multiline", [r"^val/pairs_total$"]],
            "loss": ["Multiline", [r"^train/loss$"]],
        },
        "which criterion is learned when": {
            "Kendall's tau-b with the errors": ["Multiline", [rf"^val/tau_({criteria})$"]],
            "share of pairs in the right order": ["Multiline", [rf"^val/pairs_({criteria})$"]],
        },
        "how rewards separate": {
            "better less worse candidate, mean": ["Multiline", [rf"^margin/({criteria})$"]],
            "loss by criterion": ["Multiline", [r"^train/(.+/)?individual/"]],
        },
    }
    if dynamic_weights:
        charts["what dynamic weighting weighs"] = {
            "weight": ["Multiline", [r"^train/(.+/)?weight/"]],
            "F1": ["Multiline", [r"^train/(.+/)?f1/"]],
        }
    writer.add_custom_scalars(charts)


def log_reward_plots(
    writer: SummaryWriter, tags: Sequence[str], rewards: Tensor, errors: Tensor, margins: Tensor, step: int
) -> None:
    """Means and histograms of margins, histograms of rewards, and what rewards say of errors.

    Args:
        board: Of the run.
        tags: Names of the N criteria.
        rewards: (n, N) of the validation part.
        errors: (n, N) known errors.
        apart: (P, N) as `margins` gives them.
        step: Of the training.
    """
    for tag, reward, error, between in zip(tags, rewards.T, errors.T, margins.T, strict=True):
        writer.add_histogram(f"rewards/{tag}", reward, step)
        writer.add_figure(f"calibration/{tag}", plot_calibration(reward, error), step)
        if len(known := between[~between.isnan()]):
            writer.add_histogram(f"margins/{tag}", known, step)
            writer.add_scalar(f"margin/{tag}", known.mean(), step)


def plot_calibration(rewards: Tensor, errors: Tensor) -> matplotlib.figure.Figure:
    """Known errors by reward, and those that a saved model would expect, of one criterion.

    Pale points are candidates; the line is the calibration fitted on these very candidates; full points are means of
    tenths of them, in order of their reward, with two standard errors. Where the line is flat, a reward says nothing of
    the number of errors. Of the size in which TensorBoard shows images.

    Args:
        rewards: (n,); of more than 2,000 candidates an even share is drawn.
        errors: (n,).
    """
    rewards, errors = rewards.float().cpu(), errors.float().cpu()
    (curve,) = Calibration.fit(rewards[:, None], errors[:, None]).curves
    x, y = rewards.numpy(), errors.numpy()
    figure = matplotlib.figure.Figure(figsize=FIGURE_SIZE, layout="constrained", dpi=100)
    axis = figure.subplots()
    drawn = slice(None, None, -(-len(x) // MAX_POINTS))
    # Counts are whole: points would hide one another.
    jitter = np.random.default_rng(0).uniform(-JITTER, JITTER, len(x[drawn]))
    axis.scatter(x[drawn], y[drawn] + jitter, s=6, alpha=0.25, color="tab:gray", label="candidates")
    axis.plot(*curve.T, color="tab:blue", label="expected")
    parts = np.array_split(np.argsort(x, kind="stable"), min(NUM_BINS, len(x)))
    axis.errorbar(
        [x[part].mean() for part in parts],
        [y[part].mean() for part in parts],
        [2 * y[part].std() / len(part) ** 0.5 for part in parts],
        fmt="o",
        markersize=4,
        color="tab:orange",
        label="known, mean",
    )
    axis.set_xlabel("reward")
    axis.set_ylabel("errors")
    axis.legend(fontsize=8)
    return figure


def plot_learning_curves(curves: Mapping[str, Sequence[tuple[int, float]]], label: str) -> matplotlib.figure.Figure:
    """Curves over steps, each in a colour of its own: on the page CUSTOM SCALARS those of one run share one.

    Args:
        curves: By name, steps and values.
        label: Of the values.
    """
    figure = matplotlib.figure.Figure(figsize=FIGURE_SIZE, layout="constrained", dpi=100)
    axis = figure.subplots()
    for number, (name, points) in enumerate(curves.items()):
        style = {"color": "black", "linewidth": 2} if name == "total" else {"color": f"C{number}"}
        axis.plot(*zip(*points, strict=True), ".-", label=textwrap.shorten(name.replace("_", " "), 30), **style)
    axis.set_xlabel("step")
    axis.set_ylabel(label)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure


def log_hparams(logger: TensorBoardLogger, settings: Mapping[str, Any], metrics: Sequence[str]) -> None:
    """Settings for the page HPARAMS, at the start of a run: its columns of metrics fill from scalars as they come.

    (`SummaryWriter.add_hparams` writes scalars too, which are not known yet, and a folder of its own.)

    Args:
        board: The logger.
        settings: By name, nested or not.
        metrics: Names of the scalars to compare runs by.
    """
    writer = logger.experiment._get_file_writer()  # as Lightning's loggers do: the public way adds a folder
    make: Any = hparams  # torch gives it no types
    for summary in make(flatten_settings(settings), dict.fromkeys(metrics, 0.0)):
        writer.add_summary(summary)
    writer.flush()


def flatten_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, bool | float | str]:
    """Nested settings by dotted names as on the command line, without those that are null; what is no number is text.

    A class is called by its name, under the name of the setting.

    >>> flat({"model": {"init_args": {"hidden": 4, "backbone": {"name": "embedded", "lora": None}}}, "unit": [1, 0.5]})
    {'model.hidden': 4, 'model.backbone.name': 'embedded', 'unit': '[1, 0.5]'}
    """
    found: dict[str, bool | float | str] = {}
    for name, value in settings.items():
        if name == "class_path" and prefix:
            found[prefix.removesuffix(".")] = str(value).rpartition(".")[2]
        elif isinstance(value, Mapping):
            found |= flatten_settings(value, prefix if name == "init_args" else f"{prefix}{name}.")
        elif value is not None:
            found[prefix + name] = value if isinstance(value, bool | int | float | str) else str(value)
    return found
