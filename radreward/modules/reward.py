"""Training of a reward model with one reward per criterion, by any objective on rewards (ER²Score)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import torch
from lightning.pytorch import Callback
from torch import Tensor, nn
from torchmetrics import MetricCollection

from radreward.criteria import Criteria
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.collators.reward import RewardCollator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.devices import copy_to
from radreward.distributed import all_reduce_mean, all_reduce_sum
from radreward.errors import InputError
from radreward.metrics import KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.models import Backbone, build_reward_model
from radreward.models.reward_artifact import load_initial_weights
from radreward.models.reward_model import ArchitectureName, PoolingName, RewardOutput, check_packing
from radreward.modules.base import BaseModule, log_name
from radreward.modules.callbacks import RewardPlots
from radreward.modules.objective_needs import check_provided_by_data, check_provided_by_model
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.reward_export import RewardExporter, RewardPrediction
from radreward.objectives import MarginRewardEnforcement, Objective
from radreward.types import (
    FindingWeightsBatch,
    LocatedErrorBatch,
    OptionalPart,
    PackedBatch,
    RewardBatch,
    RewardTargets,
    RewardTrainingBatch,
)

logger = logging.getLogger(__name__)


class RewardModule(BaseModule):
    """Trains a `RewardModel` (ER²Score, section 3) on the loss of an objective.

    Args:
        criteria: N criteria, one reward each.
        backbone: Encoder or decoder that reads the reports.
        objective: The loss; defaults to Margin Reward Enforcement. The model predicts what the objective needs.
        architecture: "pooled" maps one vector per candidate to rewards, as in the paper; "evidence" sums the
            evidence of errors over the tokens of both reports, see `EvidenceRewardModel`.
        pooling: From token states to one vector per candidate, see `PooledRewardModel`.
        head_hidden_size: Width of the heads' hidden layer; 0 for linear heads.
        optimizer: Learning rates and schedule.

    Raises:
        ValueError: If the objective needs what the architecture does not provide.
    """

    exporter = RewardExporter()

    def __init__(
        self,
        criteria: Criteria,
        backbone: Backbone | None = None,
        objective: Objective | None = None,
        architecture: ArchitectureName = "pooled",
        pooling: PoolingName = "auto",
        head_hidden_size: int = 0,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        self.criteria = criteria
        self.backbone = backbone or Backbone()
        self.objective = objective or MarginRewardEnforcement()
        check_provided_by_model(self.objective, architecture)
        predicts_findings = OptionalPart.FINDING_WEIGHTS in self.objective.needs
        self.model = build_reward_model(
            self.backbone, criteria, architecture, pooling, head_hidden_size, predicts_findings
        )
        self.metrics = MetricCollection(
            {
                "tau": KendallTauB(criteria.tags),
                "spearman": SpearmanRho(criteria.tags),
                "pairs": PairwiseAccuracy(criteria.tags),
            },
            prefix="val/",
        )
        self.val_metrics: dict[str, Tensor] = {}
        self._plots = RewardPlots()

    def forward(self, packed: PackedBatch) -> RewardOutput:
        """Return rewards, and finding weights and evidence if the model computes them."""
        output: RewardOutput = self.model(packed)
        return output

    def training_step(self, batch: RewardTrainingBatch, batch_idx: int) -> Tensor:
        """Return the objective's loss of a batch.

        Raises:
            InputError: If packing changes rewards, or the loss does not depend on the model. In the second case, the
                message names the objective.
        """
        self.check_packing_once(batch)
        output = self.objective(_reward_batch(self(batch.packed), batch.targets, self.criteria))
        if not output.loss.requires_grad:
            raise InputError(
                f"{type(self.objective).__name__}: Expected a loss that depends on the model but it has no gradient. "
                "Compute it from the batch with torch only, without `detach`, `item` or `no_grad`."
            )
        self.check_loss_after_backward(output.loss, batch.ids)
        self.log_training({"loss": output.loss, **output.logs}, batch)
        return output.loss

    def validation_step(self, batch: RewardTrainingBatch, batch_idx: int) -> Tensor:
        """Return rewards, and compare them with the target rewards.

        Raises:
            FloatingPointError: If a reward is not finite. The message names the groups of the batch.
        """
        rewards: Tensor = self(batch.packed).rewards
        self.raise_if_not_finite(rewards, "A reward is not finite in validation,", batch.ids)
        self.metrics.update(rewards, batch.targets.rewards, group=batch.targets.group)
        return rewards

    def on_validation_epoch_end(self) -> None:
        """Log agreement per criterion and in total."""
        self.val_metrics = {key: value.float() for key, value in self.metrics.compute().items()}
        self.metrics.reset()
        # Nothing is logged for a criterion that never varies: its correlation is undefined.
        self.log_dict({key: value for key, value in self.val_metrics.items() if not value.isnan()}, sync_dist=True)
        total = self.val_metrics["val/tau_total"]
        # Callbacks treat NaN as worse than any number.
        self.log(self.monitor, total, prog_bar=True, logger=False, sync_dist=True)
        if total.isnan():
            logger.warning(
                "Step %d: τ-b of the total is undefined on the validation split because all rewards or all errors are "
                "equal. These weights cannot become the best checkpoint.",
                self.global_step,
            )

    def predict_step(self, batch: RewardTrainingBatch, batch_idx: int) -> RewardPrediction:
        """Return the outputs, computed as in scoring: without autocast, in the precision of the weights."""
        with torch.autocast(self.device.type, enabled=False):
            return RewardPrediction.from_batch(self(batch.packed), batch)

    def new_modules(self) -> list[nn.Module]:
        """Return the modules on top of the backbone."""
        modules: list[nn.Module] = self.model.new_modules()
        return modules

    def load_initial_weights(self, folder: Path) -> None:
        """Load the weights of a saved model, see `radreward.models.reward_artifact.load_initial_weights`."""
        load_initial_weights(self.model, folder)

    def check_data(self, data: BaseDataModule) -> None:
        """Check that the data have the targets that the objective needs.

        Raises:
            InputError: If the check fails. The message names the objective, what it needs and the setting that provides
                it.
        """
        check_provided_by_data(self.objective, data)

    def setup(self, stage: str) -> None:
        """Check the data, and leave located errors out of batches if the objective does not need them."""
        super().setup(stage)
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, PairedReportDataModule) and isinstance(data.collator, RewardCollator):
            data.collator.locates_errors = OptionalPart.LOCATED_ERRORS in self.objective.needs

    def check_packing(self, batch: RewardTrainingBatch) -> None:
        """Compare rewards of packed and of separate candidates, see `radreward.models.reward_model.check_packing`."""
        check_packing(self.model, batch.packed, self.packing_tolerance(1e-3, 0.1))

    def configure_callbacks(self) -> list[Callback]:
        """Return the TensorBoard plots."""
        return [self._plots]

    def log_training(self, values: Mapping[str, Tensor], batch: RewardTrainingBatch) -> None:
        """Log the loss and the terms of the objective, averaged over ranks."""
        means, size = all_reduce_mean(dict(values)), len(batch.ids)
        self.log("train/loss", means.pop("loss"), prog_bar=True, batch_size=size)
        self.log_dict({f"train/{log_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size)

    def on_train_batch_start(self, batch: RewardTrainingBatch, batch_idx: int) -> None:
        """Log the number of prompts of all ranks that were truncated so far."""
        self.num_truncated += int(all_reduce_sum(torch.tensor(batch.num_truncated, device=self.device)))
        if self.num_truncated:
            self.log("train/truncated", float(self.num_truncated), batch_size=len(batch.ids))


def _reward_batch(output: RewardOutput, targets: RewardTargets, criteria: Criteria) -> RewardBatch:
    """Return the objective's input: the outputs of a model and their targets."""
    finding_weights = located_errors = None
    if output.finding_weights is not None:
        finding_weights = FindingWeightsBatch(output.finding_weights, targets.finding_weights)
    if output.evidence is not None and targets.located_errors is not None:
        candidate, reference = output.evidence.candidate.values, output.evidence.reference.values
        located_errors = LocatedErrorBatch(candidate, reference, targets.located_errors)
    weights = copy_to(criteria.weights, output.rewards.device)
    return RewardBatch(
        output.rewards, targets.rewards, targets.group, targets.pairs, weights, finding_weights, located_errors
    )
