"""Folders of saved taggers: written whole or not at all, read without running anything in them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radreward.errors import InputError

FORMAT = 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """A scratch folder that takes the place of `folder`, and of an older tagger in it, when the block ends.

    Raises:
        InputError: If the folder holds something else than a model.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / CONFIG).is_file() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds a tagger.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        yield new
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)


def read_config(folder: str | Path) -> dict[str, Any]:
    """The configuration of a folder of a tagger, ours or of transformers.

    Raises:
        InputError: If there is none, or it is no JSON object.
    """
    path = Path(folder) / CONFIG
    if not path.parent.is_dir():
        raise InputError(f"{folder}: Expected the folder of a tagger but there is none.")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a file of a tagger but it cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON ({error}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: Expected a JSON object but got {type(value).__name__}.")
    return value


def write_json(path: Path, value: Any) -> None:
    """Write JSON that people can read."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
