"""Checks of the files of `--config`, before jsonargparse reads them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml_mapping


def validate_config_files(arguments: Sequence[str]) -> None:
    """Check that every `--config` file of a command line is a YAML mapping; messages of jsonargparse do not name it.

    Raises:
        InputError: If a file is missing, a directory, not YAML, or not a mapping; names the file, line and column.
    """
    for index, entry in enumerate(arguments):
        name, _, value = entry.partition("=")
        if name not in ("--config", "-c"):
            continue
        path = Path(value or "".join(arguments[index + 1 : index + 2]))
        if path.is_dir():
            raise InputError(f"{path}: Expected a YAML file but got a directory.")
        if not path.is_file():
            raise InputError(f"{path}: Expected a YAML file but there is no such file.{_nearest_file(path)}")
        read_yaml_mapping(path)


def _nearest_file(path: Path) -> str:
    """Return a hint at the YAML file with the most similar name below the nearest existing folder.

    Files that runs in subfolders have written are left out.
    """
    folder = next((parent for parent in path.parents if parent.is_dir()), Path())
    entries = sorted(folder.rglob("*.y*ml"))[:1000]
    files = {entry.stem: entry for entry in entries if not _is_of_a_run(entry.relative_to(folder), folder)}
    near = get_close_matches(path.stem, files, n=1)
    return f" Did you mean {files[near[0]]}?" if near else ""


def _is_of_a_run(path: Path, folder: Path) -> bool:
    """Return True if a subfolder on the path holds a run."""
    return any((folder / parent / "versions.json").is_file() for parent in list(path.parents)[:-1])
