"""Folders that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from radreward.errors import InputError


@contextmanager
def atomic_folder(folder: str | Path, marker_files: Collection[str], description: str) -> Iterator[Path]:
    """A scratch folder that takes the place of `folder`, and of an older one there, when the block ends well.

    Args:
        folder: Where to.
        known: Files by one of which an older folder is known that may be replaced.
        holds: What such a folder holds, for the message.

    Raises:
        InputError: If the folder holds something else.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     with new_folder(Path(place, "model"), {"config.json"}, "a model") as new:
    ...         _ = Path(new, "config.json").write_text("{}")
    ...     os.listdir(Path(place, "model"))
    ['config.json']
    """
    folder = Path(folder)
    ours = any((folder / name).is_file() for name in marker_files)
    if folder.exists() and not ours and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds {description}.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        yield new
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)
