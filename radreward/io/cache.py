"""A key-value cache in one SQLite file, shared by processes and limited in size."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from radreward.errors import InputError
from radreward.io.in_place import SAFE_FLAGS, check_database
from radreward.io.sqlite_files import open_database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS entry_used ON entry (used);
"""
_CHECKSUM_SIZE = 8
"""Bytes before each value."""
_MAX_PARAMETERS = 500
"""Keys per query; older versions of SQLite allow 999 parameters."""


class SQLiteCache:
    """Bytes by key in one SQLite file.

    Several processes and threads may share the file. When `put` returns, its values are stored and survive a kill. A
    value that differs from its checksum counts as missing. Only the owner can read the file: values may quote reports.

    Args:
        path: The file, created with its folder if absent.
        namespace: Fingerprint of all that the values depend on. Values stored under another namespace are deleted.
        max_entries: Maximum number of values; the least recently used are deleted first. None sets no limit.

    Raises:
        InputError: If the file is not a cache, or cannot be read or written. Every method can raise this error.

    >>> import tempfile
    >>> cache = SQLiteCache(Path(tempfile.mkdtemp()) / "cache.sqlite", max_entries=2)
    >>> cache.put({"a": b"1", "b": b"2", "c": b"3"})
    >>> cache.get(["a", "b", "c"])
    {'b': b'2', 'c': b'3'}
    """

    def __init__(self, path: str | Path, namespace: str = "", max_entries: int | None = None) -> None:
        if max_entries is not None and max_entries < 1:
            raise ValueError(f"Expected `max_entries` to be >= 1 but got {max_entries}.")
        self.path, self.max_entries = Path(path), max_entries
        self._lock = threading.Lock()
        with self._reported():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_database(self.path)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | SAFE_FLAGS, 0o600))
            self._connection = open_database(self.path, isolation_level=None, check_same_thread=False)
            self._close = weakref.finalize(self, self._connection.close)  # also called at garbage collection
            # A write-ahead log keeps committed values through a kill without waiting for the disk.
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_SCHEMA)
        with self._transaction() as connection:
            if connection.execute("SELECT name FROM namespace").fetchall() != [(namespace,)]:
                connection.execute("DELETE FROM namespace")
                connection.execute("DELETE FROM entry")
                connection.execute("INSERT INTO namespace VALUES (?)", (namespace,))

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of the keys that are present, in the order of the keys."""
        keys = list(keys)
        values: dict[str, bytes] = {}
        with self._transaction(write=self.max_entries is not None) as connection:
            for start in range(0, len(keys), _MAX_PARAMETERS):
                batch = keys[start : start + _MAX_PARAMETERS]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, value FROM entry WHERE key IN ({marks})"  # noqa: S608 - question marks only
                values |= dict(_verified(connection.execute(query, batch)))
            if self.max_entries is not None:
                used = _next_use(connection)
                connection.executemany("UPDATE entry SET used = ? WHERE key = ?", [(used, key) for key in values])
        return {key: values[key] for key in keys if key in values}

    def put(self, values: Mapping[str, bytes]) -> None:
        """Store values, all or none, and delete the least recently used above the limit."""
        with self._transaction() as connection:
            used = _next_use(connection)
            rows = [(key, _checksum(key, value) + value, used) for key, value in values.items()]
            connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)
            if self.max_entries is not None:
                count = connection.execute("SELECT COUNT(*) FROM entry").fetchone()[0]
                oldest = "DELETE FROM entry WHERE key IN (SELECT key FROM entry ORDER BY used, rowid LIMIT ?)"
                connection.execute(oldest, (max(0, count - self.max_entries),))

    def empty_keys(self) -> set[str]:
        """Return the keys whose value is empty."""
        with self._transaction(write=False) as connection:
            query = "SELECT key FROM entry WHERE length(value) = ?"
            return {key for (key,) in connection.execute(query, (_CHECKSUM_SIZE,))}

    def delete(self, key: str) -> None:
        """Delete a key, if present."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM entry WHERE key = ?", (key,))

    def __len__(self) -> int:
        with self._transaction(write=False) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM entry").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._close()

    @contextmanager
    def _transaction(self, write: bool = True) -> Iterator[sqlite3.Connection]:
        with self._lock, self._reported(), self._connection:  # commits, or rolls back after an error
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield self._connection

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            remedy = "Delete it, or name another file."
            raise InputError(f"{self.path}: cannot be used as a cache ({error}). {remedy}") from error


def _checksum(key: str, value: bytes) -> bytes:
    return blake2b(value, digest_size=_CHECKSUM_SIZE, key=blake2b(key.encode()).digest()).digest()


def _verified(rows: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield keys and values without their checksums; damaged values are left out."""
    for key, stored in rows:
        checksum, value = stored[:_CHECKSUM_SIZE], stored[_CHECKSUM_SIZE:]
        if checksum == _checksum(key, value):
            yield key, value


def _next_use(connection: sqlite3.Connection) -> int:
    """Return a number greater than every `used` in the file."""
    return 1 + int(connection.execute("SELECT COALESCE(MAX(used), 0) FROM entry").fetchone()[0])
