"""`radreward experiments`: the configurations and scripts of the papers' experiments, copied to a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import radreward
from radreward.errors import InputError
from radreward.io.terminal import print_line


def run(*, output: Path = Path("experiments")) -> int:
    """Copy the experiments (YAML, scripts, README) to a folder, so that every documented command works there.

    Args:
        output: Folder to create.
    """
    if output.exists():
        raise InputError(f"{output}: Expected a new folder but it exists. Choose another one with --output.")
    shutil.copytree(experiments_folder(), output, ignore=shutil.ignore_patterns("__pycache__"))
    print_line(f"{sum(path.is_file() for path in output.rglob('*'))} files: {output}")
    return 0


def experiments_folder() -> Path:
    """Return the folder of experiments: part of an installed package, or beside it in a clone."""
    package = Path(radreward.__file__).parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parent / "experiments"
