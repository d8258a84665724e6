"""Folders that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from radreward.errors import InputError


@contextmanager
def atomic_folder(folder: str | Path, marker_files: Collection[str], description: str) -> Iterator[Path]:
    """Yield a scratch folder that replaces `folder` if the block ends without an error.

    An `InputError` of the block names files in `folder` instead of the scratch folder.

    Args:
        folder: The folder to write.
        marker_files: Names of files; an existing folder with any of them may be replaced.
        description: What such a folder holds, for messages.

    Raises:
        InputError: If the folder holds something else.

    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with atomic_folder(Path(parent, "model"), {"config.json"}, "a model") as scratch:
    ...         _ = Path(scratch, "config.json").write_text("{}")
    ...     os.listdir(Path(parent, "model"))
    ['config.json']
    """
    folder = Path(folder)
    replaceable = any((folder / name).is_file() for name in marker_files)
    if folder.exists() and not replaceable and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds {description}.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        try:
            yield new
        except InputError as error:
            raise InputError(str(error).replace(str(new), str(folder))) from error
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)
