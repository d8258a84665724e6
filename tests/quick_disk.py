"""Files and databases that do not wait for the disk: tests kill processes, whose files stay, but cut no power."""

import os
import sqlite3
import sqlite3.dbapi2
from contextlib import suppress
from typing import Any

import pytest

_connect = sqlite3.connect


def never_wait_for_the_disk(patch: pytest.MonkeyPatch) -> None:
    """Let the system write to the disk when it likes."""
    patch.setattr(os, "fsync", lambda descriptor: None)
    for module in (sqlite3, sqlite3.dbapi2):
        patch.setattr(module, "connect", _connect_without_waiting)


def _connect_without_waiting(*arguments: Any, **options: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = _connect(*arguments, **options)
    with suppress(sqlite3.Error):  # it is locked, or no database: the first statement of the caller says so
        connection.execute("PRAGMA synchronous=OFF")
    return connection
