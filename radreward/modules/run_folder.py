"""The folder of a training run: configuration, versions, checkpoints, logs, model and metrics."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.loggers import TensorBoardLogger

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
    """Paths of the files of a run; `run_resume` starts and resumes runs.

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

    def holds_run(self) -> bool:
        """Return True if a run was started in the folder."""
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
