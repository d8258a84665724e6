"""Figures for TensorBoard."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.figure
import numpy as np
from torch import Tensor

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
