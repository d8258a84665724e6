"""Checkpoint callbacks of a run, and the choice of the checkpoint to export."""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.strategies import FSDPStrategy, ModelParallelStrategy

from radreward.errors import InputError
from radreward.io.atomic import atomic_file
from radreward.modules.run_folder import RunFolder


class AtomicCheckpointIO(TorchCheckpointIO):
    """Atomic checkpoint files: complete or absent after a kill, synced to disk.

    (Lightning writes to the folder for temporary files and moves the file, which copies it if the disks differ.)
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None) -> None:
        """Write a checkpoint."""
        content = io.BytesIO()  # so that a disk error remains an `OSError`
        torch.save(checkpoint, content)
        with atomic_file(path) as new:
            new.write_bytes(content.getbuffer())


def use_atomic_checkpoints(trainer: Trainer) -> None:
    """Let a trainer write its checkpoint files by `AtomicCheckpointIO`, unless it uses TPUs or a plugin of the user."""
    if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:
        trainer.strategy.checkpoint_io = AtomicCheckpointIO()


_UNREADABLE = (
    *(OSError, EOFError, LookupError, RuntimeError, ValueError, OverflowError, TypeError, AttributeError),
    *(pickle.UnpicklingError, zipfile.BadZipFile, zlib.error),
)
"""Errors that damaged files cause."""


class BestCheckpoint(ModelCheckpoint):
    """The checkpoint with the best validation metric, also after the run folder was moved.

    (Lightning forgets the best value if a checkpoint names another folder.)
    """

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of a checkpoint, with its paths replaced by those of this folder."""

        def relocate(path: str) -> str:
            return str(Path(str(self.dirpath)) / Path(path).name) if path else path

        best = state_dict["best_model_path"]
        if best and Path(relocate(best)).is_file():
            paths = {name: relocate(state_dict[name]) for name in ("best_model_path", "kth_best_model_path")}
            best_k = {relocate(path): value for path, value in state_dict["best_k_models"].items()}
            state_dict = {**state_dict, **paths, "best_k_models": best_k, "dirpath": self.dirpath}
        super().load_state_dict(state_dict)


class LastCheckpoint(ModelCheckpoint):
    """The training state every few steps, including the result of a validation that follows the step.

    Lightning saves before that validation. A resumed run would then skip it: the best weights could be missed, and
    early stopping would find no metric.
    """

    _save_after_validation = False

    def on_train_batch_end(self, trainer: Trainer, *args: Any, **kwargs: Any) -> None:
        """Save, or postpone this until the validation that follows has ended."""
        fit = trainer.fit_loop
        self._save_after_validation = fit._data_fetcher is not None and fit.epoch_loop._should_check_val_fx(
            fit._data_fetcher
        )
        if not self._save_after_validation:
            super().on_train_batch_end(trainer, *args, **kwargs)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the postponed checkpoint."""
        if self._save_after_validation:
            self._save_after_validation = False
            super().on_train_batch_end(trainer, pl_module, None, None, 0)


class ResumableEarlyStopping(EarlyStopping):
    """Early stopping. A resumed run that had stopped ends at once.

    Args:
        monitor: Logged metric, higher is better. An undefined value counts as no improvement.
        patience: Number of validations without improvement.
    """

    def __init__(self, monitor: str, patience: int) -> None:
        super().__init__(monitor, patience=patience, mode="max", check_finite=False, check_on_train_epoch_end=False)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop if the patience was used up before the run was resumed."""
        super().on_train_start(trainer, pl_module)
        trainer.should_stop = trainer.should_stop or self.wait_count >= self.patience


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return the content of a checkpoint file, on the CPU; nothing in it is executed.

    `torch.load` does not verify the CRC-32 that `torch.save` writes for every part of the file: a flipped bit would
    change a weight.

    Raises:
        InputError: If the file cannot be read or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as file:
            damaged = file.testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"wrong CRC-32 of {damaged}")
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"{path}: Expected a checkpoint but it cannot be read or is damaged ({reason}). Resume from another one, "
            "or start again with --overwrite."
        ) from error
    return checkpoint


def checkpoint_callbacks(
    run: RunFolder, monitor: str, save_interval: int, early_stop: int | None = None
) -> list[Callback]:
    """Return callbacks that save the best and the last checkpoint, and early stopping.

    Args:
        run: Folder of the run.
        monitor: Logged metric that selects the best checkpoint, higher is better.
        save_interval: Number of steps between checkpoints `last`, each of which atomically replaces the previous one.
        early_stop: Number of validations without improvement after which to stop; None never stops.

    Raises:
        ValueError: If a number is less than 1.
    """
    for name, value in (("checkpoint_every", save_interval), ("early_stop", early_stop)):
        if value is not None and value < 1:
            raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
    best = BestCheckpoint(
        run.checkpoints,
        "best",
        monitor=monitor,
        mode="max",
        save_on_train_epoch_end=False,  # after the validation, and before `last`, whose state then includes it
        enable_version_counter=False,
    )
    last = LastCheckpoint(run.checkpoints, "last", every_n_train_steps=save_interval, enable_version_counter=False)
    if early_stop is None:
        return [best, last]
    return [best, last, ResumableEarlyStopping(monitor, early_stop)]


def best_checkpoint(trainer: Trainer) -> Path | None:
    """Return the checkpoint with the best monitored metric; None if no validation had a defined one."""
    callback = trainer.checkpoint_callback  # the first one
    if not isinstance(callback, ModelCheckpoint) or callback.best_model_score is None:
        return None
    # The callback records an undefined metric as -inf. DeepSpeed saves folders, which cannot be read here.
    best = Path(callback.best_model_path)
    return best if torch.isfinite(callback.best_model_score) and not best.is_dir() else None


def check_unsharded(trainer: Trainer, run: RunFolder) -> None:
    """Check that every rank holds all weights.

    Raises:
        InputError: If the check fails. The message names the command that exports the model on one device.
    """
    strategy = trainer.strategy
    if isinstance(strategy, FSDPStrategy | ModelParallelStrategy) or getattr(strategy, "zero_stage_3", False):
        raise InputError(
            f"{run.folder}: training is complete but the weights are sharded. To export the model on one device, "
            "run the same command with --ckpt-path=last --trainer.strategy=auto --trainer.devices=1."
        )
