"""Answers on disk, by what was asked: a job that was killed goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radreward.errors import InputError
from radreward.types import ChatRequest, ChatResponse


def request_key(model_id: str, request: ChatRequest) -> str:
    """SHA-256 of who is asked and of the whole request: every message and every setting.

    >>> from radreward.types import Message
    >>> request_key("a model", ChatRequest((Message("user", "?"),)))[:12]
    '41d0ae9b9a63'
    """
    request = request._replace(temperature=float(request.temperature), top_p=float(request.top_p))
    return hashlib.sha256(json.dumps([model_id, request]).encode()).hexdigest()


class ResponseCache:
    """A file (SQLite) of answers by the hash of what was asked; requests and keys of servers are not in it.

    An answer is there as soon as `put` returns, also for other processes, and stays if the process is killed. Answers
    may quote reports: the file is readable by its owner only.

    Args:
        path: The file; made, with its folder, where there is none.

    Raises:
        InputError: If the file is something else, or cannot be read or written.

    >>> import tempfile
    >>> cache = AnswerCache(Path(tempfile.mkdtemp()) / "answers.sqlite")
    >>> cache.put("key", ChatAnswer("Yes.", "stop", 9, 2, "ok"))
    >>> cache.get("key"), cache.get("other")
    (ChatAnswer(text='Yes.', finish='stop', prompt_tokens=9, completion_tokens=2, status='ok'), None)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._as_input_error():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            # Autocommit; the thread that asks may not be the one that made the cache, but it is one at a time.
            self._file = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode=WAL")  # written answers survive a kill without a sync each
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")

    def get(self, key: str) -> ChatResponse | None:
        """The answer of a key, or None."""
        with self._as_input_error():
            row = self._file.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return ChatResponse(*json.loads(row[0]))
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.path}: key {key}: expected an answer as JSON ({error}).") from error

    def put(self, key: str, answer: ChatResponse) -> None:
        """Keep an answer."""
        with self._as_input_error():
            self._file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(answer)))

    def __len__(self) -> int:
        with self._as_input_error():
            return int(self._file.execute("SELECT COUNT(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _as_input_error(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{self.path}: cannot be used as a cache of answers ({error}).") from error
