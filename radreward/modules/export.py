"""From a finished run to a model in use: best weights, calibration, saved model, figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import FSDPStrategy, ModelParallelStrategy

from radreward.criteria import Criteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import BaseDataModule, PairedReportDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.errors import InputError
from radreward.models import Calibration, RewardModelArtifact, save_reward_model
from radreward.modules.agreement_metrics import Agreement, ScoredCandidates, cross_fitted_counts, reward_agreement
from radreward.modules.run_folder import RunFolder, write_json
from radreward.prompts.template import TEMPLATES, template_class

if TYPE_CHECKING:
    from radreward.modules.reward import RewardModule


def require_reward_collator(data: BaseDataModule) -> RewardCollator:
    """The collator, if a model trained with it can be saved: asked before a run, not after it.

    Raises:
        InputError: If not.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for a reward model but got {type(data).__name__}.")
    collator = data.collator
    if not isinstance(collator, RewardCollator):
        raise InputError(
            f"data.collator: Expected RewardCollator for a reward model but got {type(collator).__name__}."
        )
    template = type(collator.prompt_encoder.template)
    if template.__name__ not in TEMPLATES or template_class(template.__name__) is not template:
        raise InputError(
            f"data.collator.template: Expected one of {', '.join(TEMPLATES)} but got {template.__name__}: "
            "a saved model names its template."
        )
    return collator


def export(trainer: Trainer, module: RewardModule, data: BaseDataModule, run: RunFolder) -> Agreement:
    """Load the best checkpoint, calibrate on the validation part, save model, figures and every validated reward.

    Adapters are saved as float16; they are rounded first, so that what is measured is what is saved. The error of the
    counts is measured by halves: each half of the references with the calibration of the other.

    Raises:
        InputError: If the weights lie in shards on several devices; tells how to go on.
    """
    collator = require_reward_collator(data)
    check_unsharded(trainer, run)
    best = best_checkpoint(trainer)
    if best is not None:
        load_checkpoint_weights(module, best)
    half = module.model.backbone.lora is not None
    if half:
        round_to_float16(module)
    judged, ids = predict_validation(trainer, module, data)
    result = reward_agreement(module.criteria, judged, cross_fitted_counts(judged))
    training: dict[str, Any] = {
        "steps": trainer.global_step,
        "weights": "last" if best is None else "best",
        "validation_tau_b": result["total"]["tau_b"],
        "data": data.file_fingerprints(),
    }
    prompts = collator.prompt_encoder
    calibration = Calibration.fit(judged.rewards, judged.errors)
    if trainer.is_global_zero:
        save_reward_model(
            RewardModelArtifact(module.model, prompts.template, prompts.max_length, calibration, training),
            run.model,
            half,
        )
        write_predictions(run.validation, module.criteria, judged, ids)
        write_json(run.metrics, {"candidates": len(judged.rewards), "agreement": result, **training})
    return result


def check_unsharded(trainer: Trainer, run: RunFolder) -> None:
    """Whether every process holds all weights; raises as `export` does."""
    strategy = trainer.strategy
    if isinstance(strategy, FSDPStrategy | ModelParallelStrategy) or getattr(strategy, "zero_stage_3", False):
        raise InputError(
            f"{run.folder}: trained, but the weights lie in shards. Calibrate and save them on one device: the same "
            "command with --ckpt_path=last --trainer.strategy=auto --trainer.devices=1."
        )


def best_checkpoint(trainer: Trainer) -> Path | None:
    """The checkpoint of the highest validation τ-b; None where no validation had one."""
    callback = trainer.checkpoint_callback  # the first one
    if not isinstance(callback, ModelCheckpoint) or callback.best_model_score is None:
        return None
    # Where τ-b was undefined the callback notes -inf; what DeepSpeed saves is a folder, which nothing here can read.
    best = Path(callback.best_model_path)
    return best if torch.isfinite(callback.best_model_score) and not best.is_dir() else None


def load_checkpoint_weights(module: RewardModule, path: Path) -> None:
    """Take the weights of a checkpoint.

    Raises:
        InputError: If it is of another model.
    """
    module.load_state_dict(module.read_checkpoint(path)["state_dict"])


@torch.no_grad()
def round_to_float16(module: RewardModule) -> None:
    """Round what was trained to what float16 can hold."""
    for parameter in module.model.parameters():
        if parameter.requires_grad:
            parameter.copy_(parameter.half())


def predict_validation(
    trainer: Trainer, module: RewardModule, data: BaseDataModule
) -> tuple[ScoredCandidates, tuple[str, ...]]:
    """Rewards and known errors of the validation part, computed as in use: without autocast; ids of its groups."""
    predicted: Any = trainer.predict(module, data.val_dataloader())
    rewards, quality, groups = [], [], []
    ids: tuple[str, ...] = ()
    for reward, target, group, names in all_gather_in_order(predicted):
        rewards.append(reward.float())  # whatever the precision of training
        quality.append(target.float())
        groups.append(group + len(ids))  # groups are numbered from 0 in every batch
        ids += names
    return ScoredCandidates(torch.cat(rewards), module.criteria.errors(torch.cat(quality)), torch.cat(groups)), ids


def write_predictions(path: Path, criteria: Criteria, candidates: ScoredCandidates, group_ids: tuple[str, ...]) -> None:
    """Every validated candidate, by which runs on the same data are compared pair by pair.

    Columns: `group` (id), `candidate` (place in its group, from 0), `reward/TAG` and `errors/TAG` of each criterion.
    """
    group = candidates.group.tolist()
    first: dict[int, int] = {}
    columns: dict[str, Any] = {
        "group": [group_ids[number] for number in group],
        "candidate": [place - first.setdefault(number, place) for place, number in enumerate(group)],
    }
    for name, values in (("reward", candidates.rewards), ("errors", candidates.errors)):
        columns |= {f"{name}/{tag}": column.numpy() for tag, column in zip(criteria.tags, values.T, strict=True)}
    pq.write_table(pa.table(columns), path)
