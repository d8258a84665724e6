"""Base class of the LightningModules: optimizer, logging, checkpoints without the frozen backbone."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unicodedata import normalize

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim import Optimizer

from radreward.criteria import Criteria
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.collators.base import Collator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.distributed import all_reduce_sum, raise_on_all_ranks
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.modules.checkpoints import load_checkpoint
from radreward.modules.exporter import Exporter, MetricTable
from radreward.modules.optimizer import AdamWConfig

_CollatorT = TypeVar("_CollatorT", bound=Collator)

_OBJECTIVE_NAME = "objective"
"""Attribute of a module with its objective, if it has one."""
_OBJECTIVE_PREFIX = f"{_OBJECTIVE_NAME}."
"""Prefix of the objective's state, such as the running statistics of a weighting."""

_MIN_POINTS = 10
"""Points of the curves of a run that has as many steps."""

_WRAPPER_PATTERN = r"\b_(fsdp_wrapped|checkpoint_wrapped)_module\."

_NOT_FINITE_REMEDY = (
    "Lower model.optimizer.lr; in a loss of your own, look for a division by 0, or a root or logarithm of 0 or less."
)

_MISMATCH_HINT = "Expected the backbone, adapters, criteria and objective of the training run."


class BaseModule(LightningModule, ABC):
    """Module to train, the base class of all modules. Modules derive from it, never from each other.

    (With inheritance between modules, Lightning's `load_from_checkpoint` silently returns the parent.)

    Attributes:
        monitor: Logged metric that selects the best checkpoint, higher is better.
        row_label: Column title of the rows of the final metric table.
        batch_unit: Plural noun for what a batch holds, in messages.
        hparam_metrics: Logged metrics that compare runs on TensorBoard's HPARAMS page.
        exporter: Checks the module before training, and measures and saves it afterwards.
        model: The network that is trained and exported.
        backbone: Backbone of `model`.
        num_truncated: Number of prompts of all ranks that were truncated so far; a resumed run continues counting.

    Args:
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_tau"
    row_label: ClassVar[str] = "criterion"
    batch_unit: ClassVar[str] = "groups"
    hparam_metrics: tuple[str, ...] = ("val/tau_total", "final/tau_b", "final/pair_accuracy")
    exporter: ClassVar[Exporter[Any, Any]]
    model: Any
    backbone: Backbone

    def __init__(self, optimizer: AdamWConfig | None = None) -> None:
        super().__init__()
        self.optimizer_config = optimizer or AdamWConfig()
        self.num_truncated = 0
        self._packing_checked = False
        self._unchecked_loss: tuple[Tensor, Sequence[str]] | None = None

    @abstractmethod
    def new_modules(self) -> list[nn.Module]:
        """Return the randomly initialized parts, which learn at `head_lr`."""

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Return AdamW with its schedule."""
        return self.optimizer_config.build(self, self.new_modules(), int(self.trainer.estimated_stepping_batches))

    def load_initial_weights(self, folder: Path) -> None:
        """Load the weights of a saved model before training, for `--init-from`.

        Raises:
            InputError: If the weights do not fit, or the module does not support this.
        """
        raise InputError(f"--init-from: {type(self).__name__} cannot start from a saved model ({folder}).")

    def check_data(self, data: BaseDataModule) -> None:
        """Check that the data have what training needs, after reading them and before writing anything.

        Raises:
            InputError: If the check fails. The message names what is missing and the setting that provides it.
        """

    def setup(self, stage: str) -> None:
        """Check the data, for a fit that was started without `TrainingRun`."""
        data = getattr(self.trainer, "datamodule", None)
        if stage == "fit" and isinstance(data, BaseDataModule):
            self.check_data(data)

    @property
    def datamodule(self) -> BaseDataModule:
        """The data module of the current fit."""
        data: BaseDataModule = self.trainer.datamodule  # type: ignore[attr-defined]  # set by `Trainer.fit`
        return data

    def on_fit_start(self) -> None:
        """Request a packing check for the first batch."""
        self._packing_checked = False

    def on_train_start(self) -> None:
        """Log at least ten points of the curves of a short run, also if `log_every_n_steps` is larger."""
        steps = int(self.trainer.estimated_stepping_batches)
        interval: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined]  # set by its logger connector
        if steps < _MIN_POINTS * interval:
            self.trainer.log_every_n_steps = max(steps // _MIN_POINTS, 1)  # type: ignore[attr-defined]

    def check_packing(self, batch: Any) -> None:
        """Compare a packed batch with the same sequences in separate rows; no-op for modules without packing.

        Raises:
            InputError: If they differ: the architecture ignores the packing, and training would be silently wrong.
        """

    def check_packing_once(self, batch: Any) -> None:
        """Run `check_packing` on the first batch of a fit. Call this method in `training_step`."""
        if not self._packing_checked:
            with torch.no_grad(), raise_on_all_ranks(self.device):
                self.check_packing(batch)
            self._packing_checked = True

    def packing_tolerance(self, full_precision: float, low_precision: float) -> float:
        """Return the maximum rounding difference at the trainer's precision."""
        return full_precision if str(self.trainer.precision) in ("32-true", "64-true") else low_precision

    def raise_if_not_finite(self, values: Tensor, message: str, ids: Sequence[str], remedy: str = "") -> None:
        """Stop all ranks if a value of any rank is not finite.

        Raises:
            FloatingPointError: If a value is not finite. Step, rows and remedy are appended to the message.
        """
        bad = ~values.isfinite().all()
        if all_reduce_sum(bad.int()):
            where = f"{self.batch_unit} {', '.join(ids)}" if bad else "on another rank"
            raise FloatingPointError(
                f"{message if bad else 'A value is not finite in'} step {self.global_step}, {where}. {remedy}".rstrip()
            )

    def check_loss_after_backward(self, loss: Tensor, ids: Sequence[str]) -> None:
        """Request the check of `on_after_backward`. Call this method in `training_step`.

        To read the loss earlier, a GPU would have to finish the forward pass before the backward pass is queued.
        """
        self._unchecked_loss = loss.detach(), ids

    def on_after_backward(self) -> None:
        """Stop all ranks if the loss of any rank is not finite, before the weights change.

        Raises:
            FloatingPointError: If the loss is not finite. The message names the objective and the rows of the batch.
        """
        if self._unchecked_loss is not None:
            loss, ids = self._unchecked_loss
            self._unchecked_loss = None
            objective = self._modules.get(_OBJECTIVE_NAME)
            name = f"{type(objective).__name__}: " if objective else ""
            self.raise_if_not_finite(loss, f"{name}The loss is {loss.item()} in", ids, _NOT_FINITE_REMEDY)

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Log the learning rate of the first parameters, those of the backbone unless it is frozen, as lr."""
        self.log("lr", optimizer.param_groups[0]["lr"], batch_size=1)

    def log_metric_table(self, table: MetricTable) -> None:
        """Log every defined value as `val/METRIC_ROW`. The table must be the same on all ranks."""
        for row, metrics in table.items():
            defined = {f"val/{name}_{row}": value for name, value in metrics.items() if value is not None}
            self.log_dict(defined, sync_dist=False)

    def checkpoint_keys(self) -> set[str]:
        """Return the keys of the state dict that a checkpoint holds: trainable parameters and the objective's buffers.

        Parameters are listed by name because quantized weights add entries to the state dict that are not parameters.
        Sharding wrappers change the names of parameters but not those in checkpoints.
        """
        trainable = {name for name, parameter in self.named_parameters() if parameter.requires_grad}
        objective = self._modules.get(_OBJECTIVE_NAME)
        state = {_OBJECTIVE_PREFIX + name for name in objective.state_dict()} if objective else set()
        return {re.sub(_WRAPPER_PATTERN, "", name) for name in trainable} | state

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Drop frozen weights: they come from the backbone."""
        keys = self.checkpoint_keys()
        checkpoint["state_dict"] = {name: value for name, value in checkpoint["state_dict"].items() if name in keys}
        checkpoint["num_truncated"] = self.num_truncated

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that a checkpoint fits this module and add the frozen weights that it leaves out.

        Raises:
            InputError: If a key is missing, unknown or of another shape, or criteria or objective differ.
        """
        self._check_same_model(checkpoint)
        self.num_truncated = checkpoint.get("num_truncated", 0)
        own = {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers())}
        loaded = {id(own[name]): value for name, value in checkpoint["state_dict"].items() if name in own}
        # A parameter with two names, such as tied embeddings, is stored under one of them.
        rest = {name: loaded.get(id(own[name]), own[name].detach()) for name in self.state_dict() if name in own}
        checkpoint["state_dict"] = {**rest, **checkpoint["state_dict"]}

    def _check_same_model(self, checkpoint: dict[str, Any]) -> None:
        state, own, expected = checkpoint["state_dict"], self.state_dict(), self.checkpoint_keys()
        if different := sorted(expected ^ set(state)):
            state_of_first = "missing" if different[0] in expected else "unknown"
            raise InputError(f"comes from another model: {different[0]!r} is {state_of_first}. {_MISMATCH_HINT}")
        for name in sorted(state):
            # Buffers of the objective may grow: a weighting learns the number of criteria from the first batch.
            if not name.startswith(_OBJECTIVE_PREFIX) and state[name].shape != own[name].shape:
                shapes = f"{tuple(state[name].shape)}, not {tuple(own[name].shape)}"
                raise InputError(f"comes from another model: {name!r} has the shape {shapes}. {_MISMATCH_HINT}")
        saved = checkpoint.get("hyper_parameters", {})
        for name in sorted({"criteria", "objective"} & set(self.hparams) & set(saved)):
            if self.hparams[name] != saved[name]:
                raise InputError(f"was trained with a different {name} setting. {_MISMATCH_HINT}")

    def read_checkpoint(self, path: Path) -> dict[str, Any]:
        """Return a checkpoint of this model, completed with the frozen weights.

        Raises:
            InputError: If the file cannot be read or comes from another model. The message names the file.
        """
        checkpoint = load_checkpoint(path)
        if "state_dict" not in checkpoint:
            raise InputError(f"{path}: Expected a checkpoint of a run but it has no weights.")
        try:
            self.on_load_checkpoint(checkpoint)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return checkpoint


def log_name(key: str, criteria: Criteria) -> str:
    """Return the logged name of an objective's term: a trailing criterion index becomes the criterion's tag.

    Characters that logging services reject are replaced.

    >>> from radreward.criteria import RadCliQCriteria
    >>> log_name("individual/3", RadCliQCriteria()), log_name("total", RadCliQCriteria())
    ('individual/incorrect_severity', 'total')
    >>> log_name("rewards/ER²Score/mean", RadCliQCriteria()), log_name("format_error/too long", RadCliQCriteria())
    ('rewards/ER2Score/mean', 'format_error/too_long')
    """
    key = re.sub(r"[^\w./-]+", "_", normalize("NFKC", key), flags=re.ASCII)
    head, _, last = key.rpartition("/")
    return f"{head}/{criteria.tags[int(last)]}" if head and last.isdigit() else key


def require_collator(data: BaseDataModule, collator_class: type[_CollatorT], purpose: str) -> _CollatorT:
    """Return the collator of a `PairedReportDataModule`; `purpose` in messages is, for example, "a reward model".

    Raises:
        InputError: If the data module or its collator is of another class.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for {purpose} but got {type(data).__name__}.")
    if not isinstance(data.collator, collator_class):
        raise InputError(
            f"data.collator: Expected {collator_class.__name__} for {purpose} but got {type(data.collator).__name__}."
        )
    return data.collator
