"""`radreward experiments`: the configurations and scripts of the papers' experiments, copied to a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import radreward
from radreward.errors import InputError
from radreward.io.atomic import atomic_folder
from radreward.io.terminal import print_line


def run(*, output: Path = Path("experiments")) -> int:
    """Copy the experiments (YAML, scripts, README) to a folder, so that every documented command works there.

    Args:
        output: Folder to create.
    """
    if output.exists():
        raise InputError(f"{output}: Expected a new folder but it exists. Choose another one with --output.")
    source = _experiments_folder()
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    with atomic_folder(output, (), "nothing") as new:
        for path in files:
            copy = new / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    print_line(f"Copied {len(files)} files to {output}")
    return 0


def _experiments_folder() -> Path:
    """Return the folder of experiments: part of an installed package, or beside it in a clone."""
    package = Path(radreward.__file__).parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parent / "experiments"
