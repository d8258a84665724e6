"""TensorBoard output besides scalar curves: grouped curves, distributions, precision and recall, plots of rewards."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.figure
import numpy as np
import torch
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

from radreward.criteria import Criteria
from radreward.models import Calibration

MAX_POINTS = 2000
NUM_BINS = 10
_JITTER = 0.15
_FIGURE_SIZE = (4.0, 3.4)
"""Inches; TensorBoard shrinks larger figures until their text is unreadable."""
_MARGINS = {"left": 0.13, "right": 0.97, "bottom": 0.14, "top": 0.97}
"""Shares of the figure; a layout computed from the labels would double the time of a figure."""


def add_custom_scalars(writer: SummaryWriter, tags: Sequence[str], dynamic_weights: bool) -> None:
    """Define the charts of the CUSTOM SCALARS page, each with several curves; once, at the start of a run.

    That page colors curves by run and marks them by criterion: select many runs for its first section, and one run for
    the others. `dynamic_weights` adds the weights of the criteria.
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
            "better minus worse candidate, mean": ["Multiline", [rf"^margin/({criteria})$"]],
            "loss per criterion": ["Multiline", [r"^train/(.+/)?individual/"]],
        },
    }
    if dynamic_weights:
        charts["dynamic weighting"] = {
            "weight": ["Multiline", [r"^train/(.+/)?weight/"]],
            "F1": ["Multiline", [r"^train/(.+/)?f1/"]],
        }
    writer.add_custom_scalars(charts)


def log_reward_distributions(
    writer: SummaryWriter, tags: Sequence[str], rewards: Tensor, margins: Tensor, step: int
) -> None:
    """Log histograms of (n, N) rewards and (P, N) margins, see `reward_margins`, per criterion."""
    for tag, reward, margin in zip(tags, rewards.T, margins.T, strict=True):
        writer.add_histogram(f"rewards/{tag}", reward, step)
        if len(defined := margin[~margin.isnan()]):
            writer.add_histogram(f"margins/{tag}", defined, step)


def log_pr_curves(writer: SummaryWriter, criteria: Criteria, rewards: Tensor, errors: Tensor, step: int) -> None:
    """Log precision and recall of "has an error" per criterion, over thresholds of the reward.

    The score of a candidate is the share of candidates whose reward is at least as high, so that the thresholds of
    TensorBoard, from 0 to 1, are spread over all candidates. A criterion without both kinds of candidates has no curve,
    nor has a rating.

    Args:
        writer: TensorBoard's writer.
        criteria: N criteria.
        rewards: (n, N) rewards.
        errors: (n, N) errors.
        step: Step of the run.
    """
    for criterion, reward, error in zip(criteria.criteria, rewards.T, errors.T, strict=True):
        has_error = error > 0
        if criterion.kind != "rating" and 0 < has_error.sum() < len(has_error):
            writer.add_pr_curve(f"errors/{criterion.tag}", has_error, _shares_at_least_as_high(reward), step)


def _shares_at_least_as_high(values: Tensor) -> Tensor:
    """Return (n,) shares of values that are greater or equal."""
    ascending = values.sort().values
    return 1 - torch.searchsorted(ascending, values.contiguous()) / len(values)


def plot_calibration(rewards: Tensor, errors: Tensor) -> matplotlib.figure.Figure:
    """Return a plot of error counts over rewards of one criterion, with the calibration curve that a model would save.

    Pale points are candidates, the line is the calibration fitted to them, full points are means over tenths of the
    candidates with two standard errors. A flat line means that the reward is not informative.

    Args:
        rewards: (n,); at most 2,000 evenly spaced candidates are drawn as points.
        errors: (n,) targets.
    """
    rewards, errors = rewards.float().cpu(), errors.float().cpu()
    (curve,) = Calibration.fit(rewards[:, None], errors[:, None]).curves
    x, y = rewards.numpy(), errors.numpy()
    figure = matplotlib.figure.Figure(figsize=_FIGURE_SIZE, dpi=100)
    axis = figure.subplots(gridspec_kw=_MARGINS)
    shown = slice(None, None, -(-len(x) // MAX_POINTS))
    # Counts are integers: without jitter, points would cover each other.
    jitter = np.random.default_rng(0).uniform(-_JITTER, _JITTER, len(x[shown]))
    axis.scatter(x[shown], y[shown] + jitter, s=6, alpha=0.25, color="tab:gray", label="candidates")
    inside = curve[:, 0] >= x.min() - 1e-5  # knots are rounded; the curve's continuation is not drawn
    axis.plot(*curve[inside].T, color="tab:blue", label="expected")
    parts = np.array_split(np.argsort(x, kind="stable"), min(NUM_BINS, len(x)))
    axis.errorbar(
        [x[part].mean() for part in parts],
        [y[part].mean() for part in parts],
        [2 * y[part].std() / len(part) ** 0.5 for part in parts],
        fmt="o",
        markersize=4,
        color="tab:orange",
        label="target, mean",
    )
    axis.set_xlabel("reward")
    axis.set_ylabel("errors")
    axis.legend(fontsize=8, loc="upper right")  # errors fall as the reward rises
    return figure


def format_reports_and_completions(report_pair: tuple[str, str], completions: Sequence[tuple[str, str]]) -> str:
    """Return reference, candidate and (title, text) of completions as Markdown code blocks, without formatting.

    >>> format_reports_and_completions(("a", "b"), [("reward 1", "c")]).splitlines()[0]
    '**Reference**'
    """
    return format_texts([("Reference", report_pair[0]), ("Candidate", report_pair[1]), *completions])


def format_texts(texts: Sequence[tuple[str, str]]) -> str:
    r"""Return (title, text) entries as Markdown. A text is a code block, so that its markup has no effect.

    >>> format_texts([("Reference", "<b>No</b> edema.")])
    '**Reference**\n\n    <b>No</b> edema.'
    """
    return "\n\n".join(
        f"**{title}**\n\n" + "\n".join(f"    {line}" for line in text.splitlines()) for title, text in texts
    )
