"""Scores in a file that grows as they are computed: what a run that was killed had scored is not scored again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.scorers.base import SCORED_STATUSES


class CachedScore(NamedTuple):
    """What a scorer says of one pair."""

    total: float | None
    status: str
    sub_scores: list[float | None] | None = None
    error_counts: list[float | None] | None = None
    evidence: Any = None


def pair_key(reference: str, candidate: str) -> bytes:
    """16 bytes that stand for a pair of texts."""
    text = json.dumps([reference, candidate])
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class ScoreCache:
    """Scores of one scorer, a line of JSON each; only where the lines begin is held in memory.

    Args:
        path: The file; made where there is none. A line that a killed run left half written is cut off.

    Raises:
        InputError: If it cannot be used.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> RememberedScores(path).put([(text_key("a", "b"), Score(0.5, "ok"))])
    >>> RememberedScores(path).get(text_key("a", "b"))
    Score(total=0.5, status='ok', sub=None, counts=None, evidence=None)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[bytes, int] = {}
        self._scored_keys: set[bytes] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
            self._file.seek(0)
            begin = 0
            for line in self._file:
                if not line.endswith(b"\n"):
                    break
                self._index_line(line, begin)
                begin += len(line)
            self._file.truncate(begin)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: Expected scores of an earlier run, or no file ({error!r}).") from error

    def __contains__(self, key: bytes) -> bool:
        """Whether there is a score; a pair that got none is tried again by the next run."""
        return key in self._scored_keys

    def get(self, key: bytes) -> CachedScore | None:
        """What was said of a pair, last where it was tried again."""
        if key not in self._offsets:
            return None
        self._file.seek(self._offsets[key])
        values = json.loads(self._file.readline())
        return CachedScore(**{name: values.get(name) for name in CachedScore._fields})

    def put(self, entries: Iterable[tuple[bytes, CachedScore]]) -> None:
        """Append scores; they are on the disk when this returns."""
        begin = self._file.seek(0, os.SEEK_END)
        lines = []
        for key, score in entries:
            told = {name: value for name, value in score._asdict().items() if value is not None}
            line = json.dumps({"key": key.hex(), **told}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
            self._index_line(line, begin)
            begin += len(line)
            lines.append(line)
        self._file.writelines(lines)
        self._file.flush()
        os.fsync(self._file.fileno())

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # it could be opened
            self._file.close()

    def _index_line(self, line: bytes, offset: int) -> None:
        values = json.loads(line)
        key = bytes.fromhex(values["key"])
        self._offsets[key] = offset
        if values["status"] in SCORED_STATUSES:
            self._scored_keys.add(key)
