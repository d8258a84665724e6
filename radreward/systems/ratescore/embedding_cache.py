"""Embeddings of names in a file, so that another run need not compute them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from radreward.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS encoder (fingerprint TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS entity (name TEXT PRIMARY KEY, cut INTEGER, vector BLOB, used INTEGER);
CREATE INDEX IF NOT EXISTS entity_used ON entity (used);
"""
_MAX_SQL_PARAMETERS = 500  # SQLite takes some 30,000 parameters a statement, older ones 999


class EmbeddingCache:
    """An SQLite file of names and their embeddings by one encoder; several processes may share it.

    Args:
        path: The file; made where there is none.
        fingerprint: Of the encoder. Embeddings of another one are dropped.
        width: Numbers of an embedding.
        size: How many names are kept; those not used for the longest time give way.

    Raises:
        InputError: If the file cannot be opened, or is something else.

    >>> import tempfile
    >>> store = EmbeddingStore(Path(tempfile.mkdtemp()) / "a.sqlite", "x", 2, 10)
    >>> store.put({"edema": (torch.tensor([0.0, 1.0]), False)})
    >>> store.get(["edema", "mass"])
    {'edema': (tensor([0., 1.]), False)}
    """

    def __init__(self, path: str | Path, fingerprint: str, embedding_dim: int, max_entries: int) -> None:
        self.path, self.embedding_dim, self.max_entries = Path(path), embedding_dim, max_entries
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60)
            with self._connection:
                self._connection.executescript(_SCHEMA)
                before = [row[0] for row in self._connection.execute("SELECT fingerprint FROM encoder")]
                if before != [fingerprint]:
                    self._connection.execute("DELETE FROM encoder")
                    self._connection.execute("DELETE FROM entity")
                    self._connection.execute("INSERT INTO encoder VALUES (?)", (fingerprint,))
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: Expected a file of embeddings, or none yet ({error}).") from error

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM entity").fetchone()[0])

    def get(self, names: Sequence[str]) -> dict[str, tuple[Tensor, bool]]:
        """The (width,) embeddings that are there, and whether the name was cut."""
        found: dict[str, tuple[Tensor, bool]] = {}
        for start in range(0, len(names), _MAX_SQL_PARAMETERS):
            some = names[start : start + _MAX_SQL_PARAMETERS]
            marks = ",".join("?" * len(some))
            query = f"SELECT name, cut, vector FROM entity WHERE name IN ({marks})"  # noqa: S608 - question marks only
            for name, cut, vector in self._connection.execute(query, some):
                found[name] = (torch.frombuffer(bytearray(vector), dtype=torch.float32), bool(cut))
        with self._connection:
            now = self._now()
            self._connection.executemany("UPDATE entity SET used = ? WHERE name = ?", [(now, name) for name in found])
        return found

    def put(self, rows: Mapping[str, tuple[Tensor, bool]]) -> None:
        """Keep embeddings; at once or, if the process is killed, not at all."""
        with self._connection:
            now = self._now()
            values = [(name, int(cut), vector.numpy().tobytes(), now) for name, (vector, cut) in rows.items()]
            self._connection.executemany("INSERT OR REPLACE INTO entity VALUES (?, ?, ?, ?)", values)
            if (over := len(self) - self.max_entries) > 0:
                oldest = "DELETE FROM entity WHERE name IN (SELECT name FROM entity ORDER BY used, rowid LIMIT ?)"
                self._connection.execute(oldest, (over,))

    def _now(self) -> int:
        """A number greater than every `used` before."""
        return 1 + int(self._connection.execute("SELECT COALESCE(MAX(used), 0) FROM entity").fetchone()[0])

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()
