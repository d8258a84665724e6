"""The folder of a training run: configuration, versions, checkpoints, logs, model and metrics."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.loggers import TensorBoardLogger

from radreward.errors import InputError
from radreward.io.artifacts import read_json, write_json
from radreward.io.atomic import delete_path
from radreward.io.outputs import folder_entries

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


class RunFolder:
    """Paths of the files of a run, and checks that protect an earlier run in the folder.

    Args:
        folder: The folder; created when the run starts.

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
        """Return the path of the checkpoint `last` or `best` of this run, or of any checkpoint file.

        Raises:
            InputError: If it does not exist.
        """
        path = self.checkpoints / f"{name}.ckpt" if name in ("last", "best") else Path(name)
        if not path.exists():  # DeepSpeed saves folders
            raise InputError(f"{path}: Expected a checkpoint to resume from but it does not exist.")
        return path

    def check_startable(self, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
        """Check that a run may start in this folder; changes nothing.

        Args:
            data: sha256 of each data file.
            resume: True to resume the run in the folder.
            overwrite: True to allow deletion of an earlier run.

        Raises:
            InputError: If the folder holds another run or other files, or a resumed run used other data.
        """
        if resume:
            if self.data.is_file() and read_json(self.data) != dict(data):
                raise InputError(f"{self.data}: the data changed since the run that is to be resumed.")
        elif self.folder.is_dir() and folder_entries(self.folder):
            if not self._holds_run():
                raise InputError(f"{self.folder}: Expected a folder that is new, empty or holds a run.")
            if not overwrite:
                remedy = "Resume it with --ckpt-path=last, replace" if self.last.is_file() else "Replace"
                raise InputError(
                    f"{self.folder}: holds a run. {remedy} it with --overwrite, "
                    "or choose another folder with --run-dir."
                )

    def create(self, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
        """Create the folder, and record versions, code state and data fingerprints.

        Takes the arguments of `check_startable`; an earlier run that may be overwritten is deleted.

        Raises:
            InputError: See `check_startable`; also if the folder cannot be created.
        """
        try:
            self.check_startable(data, resume, overwrite)
            if not resume and self._holds_run():
                marks = self.versions, self.data
                for entry in sorted(folder_entries(self.folder), key=lambda entry: entry in marks):
                    delete_path(entry)  # last the files that mark a run: a kill leaves a folder that can be replaced
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.versions, collect_versions())
            write_json(self.data, dict(data))
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({error.strerror}).") from error

    def _holds_run(self) -> bool:
        return self.versions.is_file() and self.data.is_file()

    def logger(self) -> TensorBoardLogger:
        """Return a TensorBoard logger for the folder; a resumed run appends to its logs."""
        return TensorBoardLogger(self.folder, name="", version=self.logs.name, default_hp_metric=False)


def collect_versions() -> dict[str, Any]:
    """Return the versions and the code state that results depend on."""
    packages: dict[str, str | None] = {}
    for name in RECORDED_PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cuda": torch.version.cuda,
        "packages": packages,
        "git": git_state(),
    }


def git_state(folder: str | Path = ".") -> dict[str, Any] | None:
    """Return commit and modification state of a working tree; None without git or without a commit."""
    git = shutil.which("git")
    if git is None:
        return None

    def run_git(*arguments: str) -> str | None:
        result = subprocess.run(  # noqa: S603 - fixed arguments, and git's own path
            [git, "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
        return result.stdout.strip() if result.returncode == 0 else None

    commit, changes = run_git("rev-parse", "HEAD"), run_git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "changed": bool(changes)}
