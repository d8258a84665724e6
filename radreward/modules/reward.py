"""ER²Score as a LightningModule: one reward per criterion, trained by any objective on rewards."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn
from torchmetrics import MetricCollection

from radreward import distributed as processes
from radreward.criteria import Criteria
from radreward.data.datamodule import BaseDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.errors import InputError
from radreward.metrics import KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.models import Backbone, RewardModel, check_length, check_packing, load_initial_weights
from radreward.modules.agreement_metrics import Agreement
from radreward.modules.base import AdamWConfig, BaseModule, log_name
from radreward.modules.export import export, require_reward_collator
from radreward.modules.run_folder import RunFolder
from radreward.modules.tensorboard import add_custom_scalars, log_reward_plots, pair_margins, plot_learning_curves
from radreward.objectives import DynamicWeighting, MarginRewardEnforcement, Objective
from radreward.types import PackedBatch, RewardBatch, RewardTrainingBatch

logger = logging.getLogger(__name__)

PACKING_TOLERANCE = {"32-true": 1e-3, "64-true": 1e-3}
"""How far packed and separate rewards may part by rounding, by precision; lower precisions 0.1."""


class RewardModule(BaseModule):
    """Trains a `RewardModel` (ER²Score, section 3).

    Args:
        criteria: What is judged.
        backbone: What reads the reports.
        objective: Loss on rewards; Margin Reward Enforcement where nothing is given.
        pooling: From token states to a vector per candidate, see `RewardModel`.
        hidden: Width of the head's hidden layer; 0 for a linear head.
        optimizer: Learning rates and schedule.
    """

    def __init__(
        self,
        criteria: Criteria,
        backbone: Backbone | None = None,
        objective: Objective | None = None,
        pooling: Literal["auto", "last", "mean", "first", "matching"] = "auto",
        head_hidden_size: int = 0,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        self.criteria = criteria
        self.model = RewardModel(backbone or Backbone(), criteria, pooling, head_hidden_size)
        self.objective = objective or MarginRewardEnforcement()
        self.metrics = MetricCollection(
            {
                "tau": KendallTauB(criteria.tags),
                "spearman": SpearmanRho(criteria.tags),
                "pairs": PairwiseAccuracy(criteria.tags),
            },
            prefix="val/",
        )
        self.val_outputs: list[tuple[Tensor, Tensor, Tensor]] = []
        self.tau_history: dict[str, list[tuple[int, float]]] = {}
        self.num_truncated = 0

    def forward(self, packed: PackedBatch) -> Tensor:
        """(C, N) rewards."""
        rewards: Tensor = self.model(packed)
        return rewards

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether the objective fits the criteria, the prompts the backbone, and a saved model can name their layout.

        Raises:
            InputError: If not.
        """
        quality = torch.tensor([[0.0], [-1.0]]).expand(2, len(self.criteria)) * self.criteria.weights
        pair = RewardBatch(
            quality.clone().requires_grad_(),
            quality,
            torch.zeros(2).long(),
            torch.tensor([[0, 1]]),
            self.criteria.weights,
        )
        objective = copy.deepcopy(self.objective).eval()
        objective.reduce(objective(pair))
        check_length(self.model.config, require_reward_collator(data).prompt_encoder.max_length)

    def load_initial_weights(self, folder: Path) -> None:
        """Begin with adapters, pooling and head of a saved model, see `radreward.models.start_from`."""
        load_initial_weights(self.model, folder)

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> Agreement:
        """Calibrate and save the best model, see `radreward.modules.export`."""
        return export(trainer, self, data, run)

    def new_modules(self) -> list[nn.Module]:
        """Pooling and head."""
        return [self.model.pooling, self.model.head]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """As `BaseModule` does, with the curves that a continued run is to go on drawing."""
        super().on_save_checkpoint(checkpoint)
        checkpoint["learnt"] = self.tau_history

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """As `BaseModule` does; raises as that."""
        super().on_load_checkpoint(checkpoint)
        self.tau_history = checkpoint.get("learnt", {})

    def on_fit_start(self) -> None:
        """Prepare to compare packed and separate rewards on the first batch: a mismatch would be silent otherwise."""
        self.num_truncated = 0
        self._checked = False
        if isinstance(self.logger, TensorBoardLogger) and self.trainer.is_global_zero:
            dynamic = any(isinstance(module, DynamicWeighting) for module in self.objective.modules())
            add_custom_scalars(self.logger.experiment, self.criteria.tags, dynamic)

    def training_step(self, batch: RewardTrainingBatch, batch_idx: int) -> Tensor:
        """The objective's loss of a batch.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
            InputError: If the loss does not depend on the rewards; names the objective.
        """
        if not self._checked:
            check_packing(self.model, batch.packed, PACKING_TOLERANCE.get(str(self.trainer.precision), 0.1))
            self._checked = True
        targets = batch.targets
        output = self.objective(RewardBatch(self(batch.packed), *targets, self.criteria.weights.to(self.device)))
        loss = self.objective.reduce(output)
        if not loss.requires_grad:
            raise InputError(f"{type(self.objective).__name__}: Expected losses that depend on the rewards.")
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in", batch.ids)
        truncated = torch.tensor(float(batch.num_truncated * processes.world_size()), device=self.device)
        means = processes.all_reduce_mean({"loss": loss, "truncated": truncated, **output.logs})
        self.num_truncated += int(means.pop("truncated"))
        size = len(batch.ids)
        self.log("train/loss", means.pop("loss"), prog_bar=True, batch_size=size)
        self.log_dict({f"train/{log_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size)
        if self.num_truncated:
            self.log("train/truncated", float(self.num_truncated), batch_size=size)
        return loss

    def validation_step(self, batch: RewardTrainingBatch, batch_idx: int) -> None:
        """Rewards against known quality.

        Raises:
            FloatingPointError: If a reward is not finite; names the groups of the batch.
        """
        rewards, targets = self(batch.packed), batch.targets
        self.raise_if_not_finite(rewards, "A reward is not finite in validation,", batch.ids)
        self.metrics.update(rewards, targets.quality, group=targets.group)
        kept = rewards, targets.quality, pair_margins(rewards, targets.quality, targets.group)
        self.val_outputs.append((kept[0].cpu(), kept[1].cpu(), kept[2].cpu()))

    def predict_step(
        self, batch: RewardTrainingBatch, batch_idx: int
    ) -> tuple[Tensor, Tensor, Tensor, tuple[str, ...]]:
        """Rewards as in use, in the precision of the weights; quality; groups and their ids."""
        with torch.autocast(self.device.type, enabled=False):
            rewards = self(batch.packed)
        return rewards.cpu(), batch.targets.quality.cpu(), batch.targets.group.cpu(), batch.ids

    def on_validation_epoch_end(self) -> None:
        """Log agreement by criterion and in total, and how rewards separate, see `radreward.modules.tensorboard`."""
        values = {key: value.float() for key, value in self.metrics.compute().items()}
        # A criterion that never varies has no correlation: nothing is logged for it.
        self.log_dict({key: value for key, value in values.items() if not value.isnan()}, sync_dist=True)
        # For callbacks, to whom NaN is worse than any number.
        self.log("val_tau", values["val/tau_total"], prog_bar=True, logger=False, sync_dist=True)
        if values["val/tau_total"].isnan():
            logger.warning(
                "Step %d: τ-b of the total is undefined on the validation part, because its rewards or its errors are "
                "all equal. These weights are not a best checkpoint.",
                self.global_step,
            )
        self.metrics.reset()
        rewards, quality, apart = (torch.cat(part) for part in zip(*all_gather_in_order(self.val_outputs), strict=True))
        self.val_outputs.clear()
        if isinstance(self.logger, TensorBoardLogger):
            errors = self.criteria.errors(quality)
            board, step = self.logger.experiment, self.global_step
            log_reward_plots(board, self.criteria.tags, rewards, errors, apart, step)
            for tag in (*self.criteria.tags, "total"):
                self.tau_history.setdefault(tag, []).append((step, float(values[f"val/tau_{tag}"])))
            board.add_figure("learning/tau", plot_learning_curves(self.tau_history, "τ-b with the errors"), step)
