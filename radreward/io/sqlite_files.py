"""The functions that open SQLite files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from radreward.io.in_place import check_database

_TIMEOUT = 60
"""Seconds to wait for a lock."""


def open_database(path: Path, **settings: Any) -> sqlite3.Connection:
    """Open an SQLite file that somebody else may have written, and create it if it is absent.

    Its schema is not trusted: views, triggers, indices and defaults in it cannot call functions with side effects
    (https://www.sqlite.org/src/doc/latest/doc/trusted-schema.md).

    Args:
        path: The file.
        settings: See `sqlite3.connect`.

    Raises:
        InputError: If the file is unsuitable, see `check_database`.
        sqlite3.Error: If the file cannot be opened.

    >>> import tempfile
    >>> connection = open_database(Path(tempfile.mkdtemp()) / "a.db")
    >>> connection.execute("PRAGMA trusted_schema").fetchone()
    (0,)
    >>> connection.close()
    """
    check_database(path)
    return connect_again(path, **settings)


def connect_again(path: Path, **settings: Any) -> sqlite3.Connection:
    """Open an SQLite file that this process has checked, see `open_database`, and may have open.

    The check reads the file. When a process closes a file, POSIX drops the locks of all its connections to this file,
    so that another process can write into their transactions.

    Args:
        path: The file.
        settings: See `sqlite3.connect`.

    Raises:
        sqlite3.Error: If the file cannot be opened.
    """
    connection: sqlite3.Connection = sqlite3.connect(path, timeout=_TIMEOUT, **settings)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection
