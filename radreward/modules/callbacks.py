"""Callbacks that log training: scalars, figures and texts with every logger, histograms on TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor

from radreward.criteria.pairs import reward_margins
from radreward.data.length_buckets import all_gather_in_order
from radreward.modules.loggers import log_figure, log_scalars, log_text
from radreward.modules.misranked_pairs import (
    MisrankedPair,
    format_misranked_pairs,
    misranked_pairs,
    most_misranked,
)
from radreward.modules.rollouts import RolloutBatch
from radreward.modules.tensorboard import (
    add_custom_scalars,
    format_reports_and_completions,
    log_pr_curves,
    log_reward_distributions,
    plot_calibration,
)
from radreward.objectives import DynamicWeighting
from radreward.types import RewardTrainingBatch, RolloutPromptBatch

_OVERVIEW = "Overview"
"""Group of the loss and τ-b; TensorBoard sorts capital letters first."""


class RewardPlots(Callback):
    """Plots of a `RewardModule`: rewards, margins, precision and recall at every validation, figures after training.

    The figures show the calibration of the last validation. Drawing them takes about as long as a short validation. A
    text shows the pairs that the last validation ranks most wrongly.

    Attributes:
        draws_figures: False for distributions and scalars only.
    """

    draws_figures = True

    def __init__(self) -> None:
        self._outputs: list[tuple[Tensor, Tensor, Tensor, list[MisrankedPair]]] = []
        self._last_validation: tuple[Tensor, Tensor] | None = None
        self._misranked: list[MisrankedPair] = []

    def on_fit_start(self, trainer: Trainer, pl_module: Any) -> None:
        """Define the charts of the CUSTOM SCALARS page."""
        if isinstance(pl_module.logger, TensorBoardLogger) and trainer.is_global_zero:
            dynamic = any(isinstance(part, DynamicWeighting) for part in pl_module.objective.modules())
            add_custom_scalars(pl_module.logger.experiment, pl_module.criteria.tags, dynamic)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: Any, outputs: Any, batch: RewardTrainingBatch, batch_idx: int
    ) -> None:
        """Log the loss every `log_every_n_steps` batches under the tag that TensorBoard shows first."""
        if _logs_batch(trainer):
            log_scalars(trainer, {f"{_OVERVIEW}/loss": float(outputs["loss"])}, pl_module.global_step)

    def on_validation_start(self, trainer: Trainer, pl_module: Any) -> None:
        """Clear the outputs of the previous validation."""
        self._outputs = []

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: Any,
        outputs: Any,
        batch: RewardTrainingBatch,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Collect rewards, targets, margins and wrongly ranked pairs of a batch; `outputs` are the rewards."""
        targets = batch.targets
        margins = reward_margins(outputs, targets.rewards, targets.group)
        wrong = misranked_pairs(batch, outputs, pl_module.criteria)
        self._outputs.append((outputs.cpu(), targets.rewards.cpu(), margins.cpu(), wrong))

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Log the distributions of all batches, and τ-b of the total under the tag that TensorBoard shows first."""
        if not trainer.loggers or trainer.sanity_checking:
            return
        *tensors, wrong = zip(*all_gather_in_order(self._outputs), strict=True)
        rewards, targets, margins = map(torch.cat, tensors)
        criteria, step = pl_module.criteria, pl_module.global_step
        errors = criteria.errors(targets)
        means = {f"margin/{tag}": margin for tag, margin in zip(criteria.tags, margins.nanmean(0), strict=True)}
        values = {f"{_OVERVIEW}/tau_b": pl_module.val_metrics["val/tau_total"], **means}
        log_scalars(trainer, {name: float(value) for name, value in values.items()}, step)
        if isinstance(pl_module.logger, TensorBoardLogger):
            log_reward_distributions(pl_module.logger.experiment, criteria.tags, rewards, margins, step)
            log_pr_curves(pl_module.logger.experiment, criteria, rewards.float(), errors, step)
        self._last_validation, self._misranked = (rewards, errors), most_misranked(wrong)

    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Log the most wrongly ranked pairs, and draw the figures, of the last validation."""
        if self._last_validation is None:
            return
        step = pl_module.global_step
        text = format_misranked_pairs(self._misranked, pl_module.criteria)
        log_text(trainer, "val/most_wrongly_ranked_pairs", text, step)
        if not self.draws_figures:
            return
        rewards, errors = (part.T for part in self._last_validation)
        for tag, reward, error in zip(pl_module.criteria.tags, rewards, errors, strict=True):
            log_figure(trainer, f"calibration/{tag}", plot_calibration(reward, error), step)


class RolloutPlots(Callback):
    """Plots of a `GRPOModule`: histograms of advantages and their scales, and the completions of a prompt."""

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: Any, outputs: Any, batch: RolloutPromptBatch, batch_idx: int
    ) -> None:
        """Plot the rollouts of a batch every `log_every_n_steps` batches."""
        logger, rollout_batch = pl_module.logger, pl_module.rollout_batch
        if _logs_batch(trainer):
            estimate, step = rollout_batch.estimate, pl_module.global_step
            log_text(trainer, "train/completions", _format_rollouts(batch, rollout_batch), step)
            if isinstance(logger, TensorBoardLogger):
                logger.experiment.add_histogram("train/advantage_scales", estimate.advantage_scales, step)
                logger.experiment.add_histogram("train/advantages", estimate.advantages, step)


class ValidationExample(NamedTuple):
    """An answer of a generative module in validation."""

    report_pair: tuple[str, str]
    generated: str
    target: str


class ValidationExamples(Callback):
    """The first answer of every validation as text; `validation_step` returns {"example": `ValidationExample`}."""

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: Any,
        outputs: Tensor | Mapping[str, Any] | None,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Log the example of the first batch."""
        if batch_idx == 0 and isinstance(outputs, Mapping):
            log_example(trainer, outputs["example"], pl_module.global_step)


def log_example(trainer: Trainer, example: ValidationExample, step: int) -> None:
    """Log an answer with its reports and the target as text."""
    answers = [("Generated", example.generated), ("Target", example.target)]
    log_text(trainer, "val/example", format_reports_and_completions(example.report_pair, answers), step)


def _logs_batch(trainer: Trainer) -> bool:
    """Return True every `log_every_n_steps` batches, counted over epochs."""
    interval: int = trainer.log_every_n_steps  # type: ignore[attr-defined]  # set by the trainer's logger connector
    return (trainer.fit_loop.total_batch_idx + 1) % interval == 0


def _format_rollouts(batch: RolloutPromptBatch, rollout_batch: RolloutBatch) -> str:
    """Return the completions of the first prompt with their rewards and advantages, as Markdown."""
    estimate = rollout_batch.estimate
    values = zip(estimate.rewards[0].tolist(), estimate.advantages[0].tolist(), strict=True)
    completions = [
        (f"reward {reward:.3f}, advantage {advantage:+.3f}", completion.text)
        for completion, (reward, advantage) in zip(rollout_batch.completions[0], values, strict=True)
    ]
    return format_reports_and_completions(batch.report_pairs[0], completions)
