"""Folder of caches that serve several commands, and a hash of the code on which their values depend."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import resources
from pathlib import Path

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint

_SOURCE_SUFFIXES = {".py", ".txt", ".json"}


def user_cache_folder() -> Path:
    """Return the folder `radreward` in `XDG_CACHE_HOME`, which defaults to `~/.cache`; it may not exist.

    Raises:
        InputError: If the user has no home folder.
    """
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder, "radreward")
    try:
        return Path.home() / ".cache" / "radreward"
    except RuntimeError as error:
        raise InputError("Expected the folder of caches in XDG_CACHE_HOME, or a home folder, but got none.") from error


@lru_cache(1)
def code_fingerprint() -> str:
    """Return a hash of the code and the word lists of this package; values that other code has cached are not used."""
    root = Path(str(resources.files("radreward")))
    files = (path for path in sorted(root.rglob("*")) if path.suffix in _SOURCE_SUFFIXES)
    return fingerprint({path.relative_to(root).as_posix(): path for path in files})
