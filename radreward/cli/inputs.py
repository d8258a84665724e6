"""Checks of what a command reads and writes, before anything slow starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from radreward.errors import InputError


def check_input(path: Path) -> None:
    """Read the first rows of a file, so that an unusable file is reported before a model is loaded.

    Args:
        path: A file of rows; folders and `hf:` names are left to their reader.

    Raises:
        InputError: If the file cannot be read.
    """
    from radreward.io.tables import read_rows

    if not path.is_dir() and not str(path).startswith("hf:"):
        next(read_rows(path), None)


def check_output_file(path: Path) -> None:
    """Create the folder of a file that will be written.

    Args:
        path: The file.

    Raises:
        InputError: If the folder cannot be created, or the path is a folder.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from error
    if path.is_dir():
        raise InputError(f"{path}: Expected a file to write but got a folder.")


def check_scorers(names: Sequence[str]) -> None:
    """Resolve the names of scorers without loading any.

    Args:
        names: What `--scorers` lists.

    Raises:
        InputError: If a name is unknown or listed twice.
    """
    from radreward.scorers import resolve

    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"--scorers: Expected different scorers but {repeated[0]!r} is listed twice.")
    for name in names:
        resolve(name)
