"""Checks of options and input files before anything slow starts."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from radreward.errors import InputError


def check_input(path: Path) -> None:
    """Read the first rows of a file, so that an unusable file is reported before a model is loaded.

    Args:
        path: A file of rows, a folder of Parquet files, or `-`; another folder or an `hf:` name is not checked here.

    Raises:
        InputError: If the file cannot be read.
    """
    from radreward.io.parquet_files import has_parquet_files
    from radreward.io.tables import read_rows

    if (has_parquet_files(path) or not path.is_dir()) and not str(path).startswith("hf:"):
        next(read_rows(path), None)


def check_minimum(minimum: int, /, **options: float | None) -> None:
    """Check that options are not below a minimum; the value of an option that was not given is None.

    Raises:
        InputError: If a value is too small. The message names the option.
    """
    for name, value in options.items():
        if value is not None and not value >= minimum:
            raise InputError(f"--{name.replace('_', '-')}: Expected a number >= {minimum} but got {value}.")


def check_scorers(names: Sequence[str]) -> None:
    """Check the names in `--scorers` without loading a scorer.

    Raises:
        InputError: If a name is unknown or listed twice.
    """
    from radreward.scorers import resolve

    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"--scorers: Expected different scorers but {repeated[0]!r} is listed twice.")
    for name in names:
        resolve(name)


def find_classes_here() -> None:
    """Add the working directory to the import path, so that `class_path: my_losses.MyLoss` names a file in it."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
