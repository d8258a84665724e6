"""Databases of studies that are created quickly: Optuna reads the code of all its migrations several times for each."""

from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from alembic import util

_read = util.load_python_file


def read_migrations_once(patch: pytest.MonkeyPatch) -> None:
    """Let Alembic keep the migrations that it has read."""
    patch.setattr(util, "load_python_file", _read_migration)


def _read_migration(folder: str | Path, name: str) -> ModuleType:
    return _read(folder, name) if name == "env.py" else _read_once(folder, name)  # env.py migrates a database


_read_once = cache(_read)
