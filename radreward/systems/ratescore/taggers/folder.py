"""Folders of saved taggers: written whole or not at all, read without running anything in them."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.atomic import atomic_folder

FORMAT = 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"


def atomic_tagger_folder(folder: str | Path) -> AbstractContextManager[Path]:
    """A scratch folder for a tagger, see `new_folder`.

    Raises:
        InputError: If the folder holds something else than a model.
    """
    return atomic_folder(folder, {CONFIG}, "a tagger")


def read_tagger_config(folder: str | Path) -> dict[str, Any]:
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
