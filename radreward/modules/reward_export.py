"""Export of reward models: dry run of the objective, validation predictions, calibration, saved model."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import torch
from lightning.pytorch import Trainer
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.collators.reward import RewardCollator
from radreward.data.length_buckets import all_gather_in_order
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.models import Calibration, RewardModelArtifact, save_reward_model
from radreward.models.calibration import calibrate_finding_weights
from radreward.models.reward_model import RewardModel, RewardOutput
from radreward.models.transformers_attention import check_length
from radreward.modules.agreement_metrics import (
    cross_fitted_counts,
    cross_fitted_quality,
    errors_agreement,
    errors_by_row,
    reward_agreement,
    undefined_auc_notes,
)
from radreward.modules.base import require_collator
from radreward.modules.exporter import Exporter, MetricTable, TrainedModule
from radreward.modules.predictions import ScoredCandidates, write_predictions
from radreward.modules.run_folder import RunFolder
from radreward.objectives import Objective
from radreward.prompts.template import TEMPLATES, template_class
from radreward.types import (
    FindingWeightsBatch,
    LocatedErrorBatch,
    LocatedErrorTargets,
    OptionalPart,
    RewardBatch,
    RewardTrainingBatch,
)

logger = logging.getLogger(__name__)


class RewardPrediction(NamedTuple):
    """Outputs of a batch on the CPU, with their targets."""

    rewards: Tensor
    """(C, N) float32."""
    targets: Tensor
    """(C, N) target rewards."""
    group: Tensor
    """(C,) index into `group_ids`."""
    group_ids: tuple[str, ...]
    finding_weights: FindingWeightsBatch | None

    @classmethod
    def from_batch(cls, output: RewardOutput, batch: RewardTrainingBatch) -> RewardPrediction:
        """Return the outputs of a batch in float32."""
        targets, weights = batch.targets, None
        if output.finding_weights is not None:
            weights = FindingWeightsBatch(output.finding_weights.float().cpu(), targets.finding_weights.cpu())
        return cls(output.rewards.float().cpu(), targets.rewards.float().cpu(), targets.group.cpu(), batch.ids, weights)


class RewardResults(NamedTuple):
    """Validation results of a reward model."""

    metrics: MetricTable
    candidates: ScoredCandidates
    group_ids: tuple[str, ...]


class _TrainedRewardModule(TrainedModule, Protocol):
    """The part of a `RewardModule` that its exporter uses."""

    model: RewardModel
    criteria: Criteria
    objective: Objective


class RewardExporter(Exporter[_TrainedRewardModule, RewardResults]):
    """Exporter of `RewardModule`."""

    def check(self, module: _TrainedRewardModule, data: BaseDataModule) -> None:
        """Check that the objective runs, prompts fit the backbone, and a saved model can name its template.

        Raises:
            InputError: If the check fails. The message names the setting.
        """
        objective = copy.deepcopy(module.objective).eval()
        objective(example_batch(module.criteria.weights, objective.needs))
        check_length(module.model.config, require_reward_collator(data).prompt_encoder.max_length)

    def measure(self, module: _TrainedRewardModule, trainer: Trainer, data: BaseDataModule) -> RewardResults:
        """Return agreement on the validation split. Count errors are cross-fitted, see `cross_fitted_counts`."""
        candidates, group_ids = predict_validation(module, trainer, data)
        criteria, counts = module.criteria, cross_fitted_counts(candidates)
        metrics = dict(reward_agreement(criteria, candidates, counts))
        if counts is not None and criteria.counts_errors:
            predicted, target = (criteria.number_of_errors(errors) for errors in (counts, candidates.errors))
            metrics["errors"] = errors_agreement(predicted, target, candidates.group)
        if candidates.finding_weights is not None:
            quality = cross_fitted_quality(candidates.finding_weights, candidates.group)
            if quality is not None:
                metrics["quality"] = quality
        return RewardResults(metrics, candidates, group_ids)

    def save(
        self,
        module: _TrainedRewardModule,
        results: RewardResults,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Fit the calibrations on the validation split; save model, predictions and metrics."""
        metrics, candidates = results.metrics, results.candidates
        training_info = {**training_info, "validation_tau_b": metrics["total"]["tau_b"]}
        finding_weights_calibration = None
        if candidates.finding_weights is not None:
            finding_weights_calibration = calibrate_finding_weights(*candidates.finding_weights)
            if finding_weights_calibration is None:
                logger.warning(
                    "The validation split has no `matched` and `wrong` weights: this model gives no quality."
                )
        encoder = require_reward_collator(data).prompt_encoder
        artifact = RewardModelArtifact(
            model=module.model,
            template=encoder.template,
            max_length=encoder.max_length,
            calibration=Calibration.fit(candidates.rewards, candidates.errors),
            training_info=training_info,
            finding_weights_calibration=finding_weights_calibration,
        )
        save_reward_model(artifact, run.model, as_float16)
        write_predictions(run.validation, module.criteria, candidates, results.group_ids)
        notes = undefined_auc_notes(metrics, errors_by_row(module.criteria, candidates.errors))
        content = {"candidates": len(candidates.rewards), "agreement": metrics, "notes": notes}
        write_json(run.metrics, {**content, **training_info})


def example_batch(weights: Tensor, parts: frozenset[str]) -> RewardBatch:
    """Return a batch of one pair, for a dry run of an objective.

    Args:
        weights: (N,) weights of the criteria.
        parts: Optional parts of the batch; it has no others, as in training.
    """
    targets = torch.stack([torch.zeros_like(weights), -weights])
    evidence = torch.ones(2, 1, len(weights))
    statements = torch.tensor([[0], [1]])
    weights_of_findings = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    located = LocatedErrorTargets(statements, statements + 2, torch.zeros(4, len(weights) + 2))
    return RewardBatch(
        targets.clone().requires_grad_(),
        targets,
        torch.zeros(2, dtype=torch.int64),
        torch.tensor([[0, 1]]),
        weights,
        FindingWeightsBatch(torch.ones(2, 2), weights_of_findings) if OptionalPart.FINDING_WEIGHTS in parts else None,
        LocatedErrorBatch(evidence, evidence, located) if OptionalPart.LOCATED_ERRORS in parts else None,
    )


def predict_validation(
    module: _TrainedRewardModule, trainer: Trainer, data: BaseDataModule
) -> tuple[ScoredCandidates, tuple[str, ...]]:
    """Return rewards and target errors of the validation split, and the ids of its groups."""
    lightning_module: Any = module
    batches: Any = trainer.predict(lightning_module, data.val_dataloader())
    predictions: list[RewardPrediction] = all_gather_in_order(batches)
    ids: tuple[str, ...] = ()
    groups = []
    for prediction in predictions:
        groups.append(prediction.group + len(ids))  # groups are numbered from 0 in every batch
        ids += prediction.group_ids
    errors = module.criteria.errors(torch.cat([prediction.targets for prediction in predictions]))
    rewards = torch.cat([prediction.rewards for prediction in predictions])
    batches_of_weights = [weights for prediction in predictions if (weights := prediction.finding_weights) is not None]
    weights = (
        FindingWeightsBatch(*map(torch.cat, zip(*batches_of_weights, strict=True))) if batches_of_weights else None
    )
    return ScoredCandidates(rewards, errors, torch.cat(groups), weights), ids


def require_reward_collator(data: BaseDataModule) -> RewardCollator:
    """Return the collator of the data if a model that is trained with it can be saved.

    Raises:
        InputError: If the check fails. The message names the setting.
    """
    collator = require_collator(data, RewardCollator, "a reward model")
    template = type(collator.prompt_encoder.template)
    if template.__name__ not in TEMPLATES or template_class(template.__name__) is not template:
        raise InputError(
            f"data.collator.template: Expected one of {', '.join(TEMPLATES)} but got {template.__name__}: "
            "a saved model stores the name of its template."
        )
    return collator
