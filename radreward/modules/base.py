"""What all modules share: optimizer, schedule, and checkpoints that leave out the frozen backbone."""

from __future__ import annotations

import math
import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from radreward import distributed as processes
from radreward.criteria import Criteria
from radreward.data.datamodule import BaseDataModule
from radreward.errors import InputError
from radreward.modules.run_folder import RunFolder

MetricTable = Mapping[str, Mapping[str, float | None]]
"""What a run achieved: rows of measures by name, the last row "total"; None where one is not defined."""

OBJECTIVE_PREFIX = "objective."
"""Begins the names of what an objective keeps, such as the running statistics of a weighting."""

WRAPPER_PATTERN = r"\b_(fsdp_wrapped|checkpoint_wrapped)_module\."

MISMATCH_HINT = "Expected the backbone, adapters, criteria and objective that it was trained with."


def log_name(key: str, criteria: Criteria) -> str:
    """The name of a term of an objective with the tag of its criterion.

    >>> from radreward.criteria import RadCliQ
    >>> term_name("individual/3", RadCliQ()), term_name("total", RadCliQ())
    ('individual/incorrect_severity', 'total')
    """
    head, _, last = key.rpartition("/")
    return f"{head}/{criteria.tags[int(last)]}" if head and last.isdigit() else key


class AdamWConfig:
    """AdamW with linear warm-up and a cosine to zero.

    Args:
        lr: Highest learning rate.
        head_lr: That of weights that start from nothing (pooling, head); `lr` where nothing is given.
        weight_decay: On matrices; never on biases and norms.
        warmup: Share of the steps in which the rate rises.

    Raises:
        ValueError: If a value is out of its range.
    """

    def __init__(
        self, lr: float = 1e-4, head_lr: float | None = None, weight_decay: float = 0.01, warmup_ratio: float = 0.05
    ) -> None:
        for name, value in (("lr", lr), ("head_lr", lr if head_lr is None else head_lr)):
            if not value > 0:
                raise ValueError(f"Expected `{name}` to be > 0 but got {value}.")
        if weight_decay < 0:
            raise ValueError(f"Expected `weight_decay` to be >= 0 but got {weight_decay}.")
        if not 0 <= warmup_ratio < 1:
            raise ValueError(f"Expected `warmup` to be in [0, 1) but got {warmup_ratio}.")
        self.lr = lr
        self.head_lr = lr if head_lr is None else head_lr
        self.weight_decay = weight_decay
        self.warmup_ratio = warmup_ratio

    def lr_factor(self, step: int, total_steps: int) -> float:
        """Share of the highest rate at a step.

        >>> [round(OptimizerSettings(warmup=0.5).rate(step, 4), 2) for step in range(4)]
        [0.5, 1.0, 1.0, 0.5]
        """
        rising = max(1, round(self.warmup_ratio * total_steps))
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rising) / max(1, total_steps - rising))))


class BaseModule(LightningModule, ABC):
    """A module that trains part of a model: siblings derive from it, never from one another.

    (Lightning's `load_from_checkpoint` silently returns the parent where modules derive from modules.)

    Attributes:
        monitor: The logged metric by which the best checkpoint is chosen, higher is better.
        rows: What a row of the figures is.
        shown: The logged metrics that compare runs on TensorBoard's page HPARAMS.

    Args:
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_tau"
    row_label: ClassVar[str] = "criterion"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/tau_total", "final/tau_b", "final/pair_accuracy")

    def __init__(self, optimizer: AdamWConfig | None = None) -> None:
        super().__init__()
        self.optimizer_config = optimizer or AdamWConfig()

    @abstractmethod
    def validate_setup(self, data: BaseDataModule) -> None:
        """Refuse what cannot be trained on or saved; called before anything is written.

        Raises:
            InputError: Names the setting.
        """

    @abstractmethod
    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save what was learnt to `run.model` and figures to `run.metrics`; called once, after training."""

    def load_initial_weights(self, folder: Path) -> None:
        """Begin with the weights of a saved model; called for `--start`, before training.

        Raises:
            InputError: If its weights do not fit, or this kind of module cannot.
        """
        raise InputError(f"--start: {type(self).__name__} cannot begin with the weights of a saved model ({folder}).")

    @abstractmethod
    def new_modules(self) -> list[nn.Module]:
        """The parts that start from nothing and learn at `head_lr`."""

    def checkpoint_keys(self) -> set[str]:
        """Entries of the state dict that a checkpoint holds: what is trained, and buffers of the objective.

        Named one by one: quantised weights bring entries of their own, which are no parameters, into the state dict.
        Wrappers that cut weights into shards add their names to those of parameters, but not to checkpoints.
        """
        trained = {name for name, parameter in self.named_parameters() if parameter.requires_grad}
        objective = self._modules.get(OBJECTIVE_PREFIX.rstrip("."))
        kept = {OBJECTIVE_PREFIX + name for name in objective.state_dict()} if objective else set()
        return {re.sub(WRAPPER_PATTERN, "", name) for name in trained} | kept

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave out what is frozen: it comes from the backbone."""
        names = self.checkpoint_keys()
        checkpoint["state_dict"] = {name: value for name, value in checkpoint["state_dict"].items() if name in names}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint of another model; to one of this model, add what it left out.

        Raises:
            InputError: If an entry is missing, unknown or of another shape, or criteria or objective were others.
        """
        self._check_same_model(checkpoint)
        own = {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers())}
        taken = {id(own[name]): value for name, value in checkpoint["state_dict"].items() if name in own}
        # A weight of two names, such as of tied embeddings, is held by one of them.
        rest = {name: taken.get(id(own[name]), own[name].detach()) for name in self.state_dict() if name in own}
        checkpoint["state_dict"] = {**rest, **checkpoint["state_dict"]}

    def _check_same_model(self, checkpoint: dict[str, Any]) -> None:
        state, own, expected = checkpoint["state_dict"], self.state_dict(), self.checkpoint_keys()
        if different := sorted(expected ^ set(state)):
            raise InputError(f"is of another model: {different[0]!r} is missing or unknown. {MISMATCH_HINT}")
        for name in sorted(state):
            # What an objective keeps may grow from its start: a weighting learns the number of criteria.
            if not name.startswith(OBJECTIVE_PREFIX) and state[name].shape != own[name].shape:
                shapes = f"{tuple(state[name].shape)}, not {tuple(own[name].shape)}"
                raise InputError(f"is of another model: {name!r} has the shape {shapes}. {MISMATCH_HINT}")
        kept = checkpoint.get("hyper_parameters", {})
        for name in sorted({"criteria", "objective"} & set(self.hparams) & set(kept)):
            if self.hparams[name] != kept[name]:
                raise InputError(f"was trained with another setting of {name}. {MISMATCH_HINT}")

    def read_checkpoint(self, path: Path) -> dict[str, Any]:
        """A checkpoint of this model.

        Raises:
            InputError: If the file cannot be read, or is of another model; names the file.
        """
        try:
            checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except (OSError, EOFError, LookupError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
            raise InputError(f"{path}: Expected a checkpoint but it cannot be read.") from error
        if "state_dict" not in checkpoint:
            raise InputError(f"{path}: Expected a checkpoint of a run but it has no weights.")
        try:
            self.on_load_checkpoint(checkpoint)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return checkpoint

    def raise_if_not_finite(self, values: Tensor, message: str, group_ids: Sequence[str]) -> None:
        """All processes stop where one has to: the others would wait for it.

        Args:
            values: What has to be finite.
            what: Said of it where it is not; the step and the groups follow.
            ids: Groups of the batch.

        Raises:
            FloatingPointError: If a value of any process is not finite.
        """
        bad = ~values.isfinite().all()
        if processes.all_reduce_sum(bad.int()):
            where = f"groups {', '.join(group_ids)}" if bad else "in another process"
            raise FloatingPointError(
                f"{message if bad else 'A value is not finite in'} step {self.global_step}, {where}."
            )

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """AdamW in four groups (fresh or adapted, decayed or not), stepped every batch."""
        fresh = {id(parameter) for module in self.new_modules() for parameter in module.parameters()}
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for parameter in self.parameters():
            if parameter.requires_grad:
                rate = self.optimizer_config.head_lr if id(parameter) in fresh else self.optimizer_config.lr
                decay = self.optimizer_config.weight_decay if parameter.ndim > 1 else 0.0
                groups.setdefault((rate, decay), []).append(parameter)
        optimizer = torch.optim.AdamW(
            [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]
        )
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: self.optimizer_config.lr_factor(step, steps)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
