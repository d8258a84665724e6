"""The folder of a training run: what it was made of, its checkpoints and logs, and what came out of it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger

from radreward.errors import InputError

RECORDED_PACKAGES = (
    "radreward",
    "torch",
    "lightning",
    "transformers",
    "tokenizers",
    "peft",
    "torchmetrics",
    "numpy",
    "scipy",
    "bitsandbytes",
    "deepspeed",
    "safetensors",
    "optuna",
    "ray",
)


class BestCheckpoint(ModelCheckpoint):
    """The weights of the best validation so far, found again where the folder of the run was moved.

    (Lightning forgets the best value when a checkpoint names another folder.)
    """

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of a checkpoint, with the paths of this folder."""

        def here(path: str) -> str:
            return str(Path(str(self.dirpath)) / Path(path).name) if path else path

        best = state_dict["best_model_path"]
        if best and Path(here(best)).is_file():
            paths = {name: here(state_dict[name]) for name in ("best_model_path", "kth_best_model_path")}
            kept = {here(path): value for path, value in state_dict["best_k_models"].items()}
            state_dict = {**state_dict, **paths, "best_k_models": kept, "dirpath": self.dirpath}
        super().load_state_dict(state_dict)


class LastCheckpoint(ModelCheckpoint):
    """The state every so many steps; where a validation follows the step, its outcome is part of the state.

    Written before it, as Lightning would, the checkpoint would make a continued run leave that validation out: the
    best weights could be missed, and early stopping would find nothing to judge.
    """

    _save_after_validation = False

    def on_train_batch_end(self, trainer: Trainer, *rest: Any, **named: Any) -> None:
        """Save, unless a validation comes first."""
        fit = trainer.fit_loop
        self._save_after_validation = fit._data_fetcher is not None and fit.epoch_loop._should_check_val_fx(
            fit._data_fetcher
        )
        if not self._save_after_validation:
            super().on_train_batch_end(trainer, *rest, **named)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save what waited."""
        if self._save_after_validation:
            self._save_after_validation = False
            super().on_train_batch_end(trainer, pl_module, None, None, 0)


class ResumableEarlyStopping(EarlyStopping):
    """An end when nothing improves; of a run that had ended so and is continued, at once.

    Args:
        monitor: The metric, higher is better. Undefined, it is no improvement, and no reason to stop at once.
        patience: After how many validations.
    """

    def __init__(self, monitor: str, patience: int) -> None:
        super().__init__(monitor, patience=patience, mode="max", check_finite=False, check_on_train_epoch_end=False)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop what had stopped."""
        super().on_train_start(trainer, pl_module)
        trainer.should_stop = trainer.should_stop or self.wait_count >= self.patience


class RunFolder:
    """Names the files of a run and guards what an earlier run left there.

    Args:
        folder: The folder; made when the run begins.

    >>> RunFolder("runs/first").last.as_posix()
    'runs/first/checkpoints/last.ckpt'
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.config = self.folder / "config.yaml"
        self.versions = self.folder / "versions.json"
        self.data = self.folder / "data.json"
        self.checkpoints = self.folder / "checkpoints"
        self.last = self.checkpoints / "last.ckpt"
        self.logs = self.folder / "logs"
        self.model = self.folder / "model"
        self.metrics = self.folder / "metrics.json"
        self.validation = self.folder / "validation.parquet"

    def resolve_checkpoint(self, name: str) -> Path:
        """The checkpoint of a name (`last`, `best`) in this folder, or a file anywhere.

        Raises:
            InputError: If there is no such file.
        """
        path = self.checkpoints / f"{name}.ckpt" if name in ("last", "best") else Path(name)
        if not path.exists():  # DeepSpeed's are folders
            raise InputError(f"{path}: Expected a checkpoint to continue from but there is none.")
        return path

    def check_startable(self, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
        """Whether a run may begin here; changes nothing.

        Args:
            data: sha256 of each file that is read.
            resume: Whether an earlier run is continued.
            overwrite: Whether an earlier run may be deleted.

        Raises:
            InputError: If an earlier run is in the way, or was on other data.
        """
        if resume:
            if self.data.is_file() and json.loads(self.data.read_text(encoding="utf-8")) != dict(data):
                raise InputError(f"{self.data}: the data changed since the run that is to be continued.")
        elif self.folder.is_dir() and any(self.folder.iterdir()):
            if not self.data.is_file():
                raise InputError(f"{self.folder}: Expected a folder that is new, empty or holds a run.")
            if not overwrite:
                goes_on = "Continue it with --ckpt_path=last, replace" if self.last.is_file() else "Replace"
                raise InputError(
                    f"{self.folder}: holds a run. {goes_on} it with --overwrite=true, "
                    "or choose another folder with --run."
                )

    def create(self, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
        """Make the folder and write down versions, the state of the code and the fingerprint of the data.

        Args as of `check`; an earlier run that may be replaced is deleted.

        Raises:
            InputError: As `check`, and if the folder cannot be made.
        """
        try:
            self.check_startable(data, resume, overwrite)
            if not resume and self.data.is_file():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.data, dict(data))
            write_json(self.versions, collect_versions())
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({error.strerror}).") from error

    def callbacks(self, monitor: str, save_interval: int, early_stop: int | None = None) -> list[Callback]:
        """The best checkpoint by validation, the last one every so many steps, and an end when nothing improves.

        Args:
            monitor: The metric that tells the best, higher is better.
            every: Steps between two checkpoints `last`, each of which replaces the one before whole.
            early_stop: Stop after so many validations without a better one; never where nothing is given.

        Raises:
            ValueError: If one of them is less than 1.
        """
        for name, value in (("checkpoint_every", save_interval), ("early_stop", early_stop)):
            if value is not None and value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        best = BestCheckpoint(
            self.checkpoints,
            "best",
            monitor=monitor,
            mode="max",
            save_on_train_epoch_end=False,  # but after the validation, before `last`, which then knows of it
            enable_version_counter=False,
        )
        last = LastCheckpoint(self.checkpoints, "last", every_n_train_steps=save_interval, enable_version_counter=False)
        if early_stop is None:
            return [best, last]
        return [best, last, ResumableEarlyStopping(monitor, early_stop)]

    def logger(self) -> TensorBoardLogger:
        """TensorBoard logs in the folder; a continued run adds to them."""
        return TensorBoardLogger(self.folder, name="", version=self.logs.name, default_hp_metric=False)


def collect_versions() -> dict[str, Any]:
    """What a result may depend on besides configuration and data."""
    found: dict[str, str | None] = {}
    for name in RECORDED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cuda": torch.version.cuda,
        "packages": found,
        "git": git_state(),
    }


def git_state(folder: str | Path = ".") -> dict[str, Any] | None:
    """Commit of a working tree and whether it was changed; None where there is no git or no commit."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*arguments: str) -> str | None:
        answer = subprocess.run(  # noqa: S603 - fixed arguments, and git's own path
            [git, "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
        return answer.stdout.strip() if answer.returncode == 0 else None

    commit, changes = ask("rev-parse", "HEAD"), ask("status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "changed": bool(changes)}


def write_json(path: Path, value: Any) -> None:
    """Write a file that appears whole."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)
