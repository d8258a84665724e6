"""Training of a reward model with one reward per criterion, by any objective on rewards (ER²Score)."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning.pytorch import Callback, Trainer
from torch import Tensor, nn
from torchmetrics import MetricCollection

from radreward.criteria import Criteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import BaseDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_mean, world_size
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.metrics import KendallTauB, PairwiseAccuracy, SpearmanRho
from radreward.models import (
    Backbone,
    Calibration,
    RewardModel,
    RewardModelArtifact,
    check_length,
    check_packing,
    load_initial_weights,
    save_reward_model,
)
from radreward.models.calibration import calibrate_findings
from radreward.models.reward_model import PoolingName, RewardOutput
from radreward.modules.agreement_metrics import (
    cross_fitted_counts,
    cross_fitted_quality,
    errors_by_row,
    reward_agreement,
    undefined_auc_notes,
)
from radreward.modules.base import BaseModule, MetricTable, log_name, require_collator
from radreward.modules.callbacks import RewardPlots
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.predictions import FindingPredictions, ScoredCandidates, write_predictions
from radreward.modules.run_folder import RunFolder
from radreward.objectives import MarginRewardEnforcement, Objective
from radreward.objectives.functional import regression
from radreward.prompts.template import TEMPLATES, template_class
from radreward.types import PackedBatch, RewardBatch, RewardTrainingBatch

logger = logging.getLogger(__name__)


class RewardPrediction(NamedTuple):
    """Rewards of a batch, computed as in scoring."""

    rewards: Tensor
    """(C, N)."""
    quality: Tensor
    """(C, N) targets."""
    group: Tensor
    """(C,) index into `group_ids`."""
    group_ids: tuple[str, ...]
    findings: FindingPredictions | None


class RewardModule(BaseModule):
    """Trains a `RewardModel` (ER²Score, section 3).

    Args:
        criteria: N criteria, one reward each.
        backbone: Encoder or decoder that reads the reports.
        objective: Loss on rewards; defaults to Margin Reward Enforcement.
        pooling: From token states to one vector per candidate, see `RewardModel`.
        head_hidden_size: Width of the heads' hidden layer; 0 for linear heads.
        findings_weight: Weight of the losses of the findings' matched and wrong weights and of the qualities' order.
        passage_weight: Weight of the loss of located errors, where they are known, with pooling "evidence".
        optimizer: Learning rates and schedule.
    """

    def __init__(
        self,
        criteria: Criteria,
        backbone: Backbone | None = None,
        objective: Objective | None = None,
        pooling: PoolingName = "auto",
        head_hidden_size: int = 0,
        findings_weight: float = 1.0,
        passage_weight: float = 1.0,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        for name, weight in (("findings_weight", findings_weight), ("passage_weight", passage_weight)):
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"Expected `{name}` to be finite and >= 0 but got {weight}.")
        self.criteria = criteria
        self.backbone = backbone or Backbone()
        self.findings_weight = findings_weight
        self.passage_weight = passage_weight if pooling == "evidence" else 0.0
        self.model = RewardModel(self.backbone, criteria, pooling, head_hidden_size, findings_weight > 0)
        self.objective = objective or MarginRewardEnforcement()
        self.metrics = MetricCollection(
            {
                "tau": KendallTauB(criteria.tags),
                "spearman": SpearmanRho(criteria.tags),
                "pairs": PairwiseAccuracy(criteria.tags),
            },
            prefix="val/",
        )
        self.val_metrics: dict[str, Tensor] = {}
        self.num_truncated = 0
        self._plots = RewardPlots()

    def forward(self, packed: PackedBatch) -> RewardOutput:
        """Return rewards and findings."""
        output: RewardOutput = self.model(packed)
        return output

    def validate_setup(self, data: BaseDataModule) -> None:
        """Check that objective and criteria fit, prompts fit the backbone, and a saved model can name its template.

        Raises:
            InputError: If not; names the setting.
        """
        quality = torch.tensor([[0.0], [-1.0]]).expand(2, len(self.criteria)) * self.criteria.weights
        rewards, pairs = quality.clone().requires_grad_(), torch.tensor([[0, 1]])
        batch = RewardBatch(rewards, quality, torch.zeros(2).long(), pairs, self.criteria.weights)
        objective = copy.deepcopy(self.objective).eval()
        objective.reduce(objective(batch))
        check_length(self.model.config, require_reward_collator(data).prompt_encoder.max_length)

    def new_modules(self) -> list[nn.Module]:
        """Return pooling and heads."""
        heads = (self.model.head, self.model.findings_head)
        return [self.model.pooling, *(head for head in heads if head is not None)]

    def configure_callbacks(self) -> list[Callback]:
        """Return the TensorBoard plots."""
        return [self._plots]

    def load_initial_weights(self, folder: Path) -> None:
        """Load adapters, pooling and head of a saved model, see `radreward.models.load_initial_weights`."""
        load_initial_weights(self.model, folder)

    def on_fit_start(self) -> None:
        """Reset what is counted or checked once per fit."""
        super().on_fit_start()
        self.num_truncated = 0

    def training_step(self, batch: RewardTrainingBatch, batch_idx: int) -> Tensor:
        """Return the objective's loss of a batch.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
            InputError: If the loss does not depend on the rewards (names the objective), or packing changes rewards.
        """
        self.check_packing_once(batch)
        weights = self.criteria.weights.to(self.device)
        targets = batch.targets
        (rewards, findings), sides = (
            self.model.locate(batch.packed) if self.passage_weight else (self(batch.packed), None)
        )
        output = self.objective(RewardBatch(rewards, targets.quality, targets.group, targets.pairs, weights))
        loss = self.objective.reduce(output)
        if not loss.requires_grad:
            raise InputError(f"{type(self.objective).__name__}: Expected losses that depend on the rewards.")
        logs = dict(output.logs)
        if findings is not None:
            logs["findings"] = regression.findings_regression_loss(findings, targets.findings)
            logs["quality_order"] = regression.quality_order_loss(findings, targets.findings, targets.group)
            loss = loss + self.findings_weight * (logs["findings"] + logs["quality_order"])
        if sides is not None:
            logs["passages"] = regression.passage_regression_loss(sides[0].values, sides[1].values, targets.passages)
            loss = loss + self.passage_weight * logs["passages"]
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in", batch.ids)
        self._log_training(batch, {"loss": loss, **logs})
        return loss

    def check_packing(self, batch: RewardTrainingBatch) -> None:
        """Compare rewards of packed and of separate candidates, see `radreward.models.check_packing`."""
        check_packing(self.model, batch.packed, self.packing_tolerance(1e-3, 0.1))

    def _log_training(self, batch: RewardTrainingBatch, logs: Mapping[str, Tensor]) -> None:
        truncated = torch.tensor(float(batch.num_truncated * world_size()), device=self.device)
        means = all_reduce_mean({**logs, "truncated": truncated})
        self.num_truncated += int(means.pop("truncated"))
        size = len(batch.ids)
        self.log("train/loss", means.pop("loss"), prog_bar=True, batch_size=size)
        self.log_dict({f"train/{log_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size)
        if self.num_truncated:
            self.log("train/truncated", float(self.num_truncated), batch_size=size)

    def validation_step(self, batch: RewardTrainingBatch, batch_idx: int) -> Tensor:
        """Return rewards, and compare them with the target quality.

        Raises:
            FloatingPointError: If a reward is not finite; names the groups of the batch.
        """
        rewards: Tensor = self(batch.packed).rewards
        self.raise_if_not_finite(rewards, "A reward is not finite in validation,", batch.ids)
        self.metrics.update(rewards, batch.targets.quality, group=batch.targets.group)
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
        """Return rewards as in scoring: without autocast, in the precision of the weights."""
        with torch.autocast(self.device.type, enabled=False):
            rewards, findings = self(batch.packed)
        targets = batch.targets
        predictions = None
        if findings is not None:
            predictions = FindingPredictions(findings.float().cpu(), targets.findings.cpu())
        return RewardPrediction(rewards.cpu(), targets.quality.cpu(), targets.group.cpu(), batch.ids, predictions)

    def measure(self, trainer: Trainer, data: BaseDataModule) -> MetricTable:
        """Return agreement on the validation split; count errors are cross-fitted, see `cross_fitted_counts`."""
        self.predictions, self.predicted_ids = self.predict_validation(trainer, data)
        predictions = self.predictions
        agreement = dict(reward_agreement(self.criteria, predictions, cross_fitted_counts(predictions)))
        if predictions.findings is not None and (
            quality := cross_fitted_quality(predictions.findings, predictions.group)
        ):
            agreement["quality"] = quality
        self.agreement: MetricTable = agreement
        return agreement

    def predict_validation(self, trainer: Trainer, data: BaseDataModule) -> tuple[ScoredCandidates, tuple[str, ...]]:
        """Return rewards and target errors of the validation split, and the ids of its groups."""
        batches: Any = trainer.predict(self, data.val_dataloader())
        rewards, quality, groups, findings = [], [], [], []
        ids: tuple[str, ...] = ()
        for prediction in all_gather_in_order(batches):
            rewards.append(prediction.rewards.float())  # whatever the precision of training
            quality.append(prediction.quality.float())
            groups.append(prediction.group + len(ids))  # groups are numbered from 0 in every batch
            ids += prediction.group_ids
            findings += [prediction.findings] if prediction.findings is not None else []
        errors = self.criteria.errors(torch.cat(quality))
        joined = FindingPredictions(*map(torch.cat, zip(*findings, strict=True))) if findings else None
        return ScoredCandidates(torch.cat(rewards), errors, torch.cat(groups), joined), ids

    def save_results(
        self, run: RunFolder, data: BaseDataModule, training_info: Mapping[str, Any], as_float16: bool
    ) -> None:
        """Fit the calibrations on the validation split; save model, predictions and metrics."""
        encoder = require_reward_collator(data).prompt_encoder
        training_info = {**training_info, "validation_tau_b": self.agreement["total"]["tau_b"]}
        calibration = Calibration.fit(self.predictions.rewards, self.predictions.errors)
        findings = self.predictions.findings
        findings_calibration = calibrate_findings(*findings) if findings is not None else None
        if findings is not None and findings_calibration is None:
            logger.warning("The data have no `matched` and `wrong` weights: this model gives no quality.")
        artifact = RewardModelArtifact(
            model=self.model,
            template=encoder.template,
            max_length=encoder.max_length,
            calibration=calibration,
            training_info=training_info,
            findings_calibration=findings_calibration,
        )
        save_reward_model(artifact, run.model, as_float16)
        write_predictions(run.validation, self.criteria, self.predictions, self.predicted_ids)
        notes = undefined_auc_notes(self.agreement, errors_by_row(self.criteria, self.predictions.errors))
        metrics = {"candidates": len(self.predictions.rewards), "agreement": self.agreement, "notes": notes}
        write_json(run.metrics, {**metrics, **training_info})


def require_reward_collator(data: BaseDataModule) -> RewardCollator:
    """Return the collator of the data if a model that is trained with it can be saved.

    Raises:
        InputError: If not; names the setting.
    """
    collator = require_collator(data, RewardCollator, "a reward model")
    template = type(collator.prompt_encoder.template)
    if template.__name__ not in TEMPLATES or template_class(template.__name__) is not template:
        raise InputError(
            f"data.collator.template: Expected one of {', '.join(TEMPLATES)} but got {template.__name__}: "
            "a saved model stores the name of its template."
        )
    return collator
