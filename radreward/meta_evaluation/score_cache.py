"""Scores of scorers in an SQLite file, so that an interrupted or repeated run scores only new pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from radreward.io.cache import SQLiteCache
from radreward.text.patient_context import NO_CONTEXT, PatientContext


class ScoredTexts(NamedTuple):
    """Texts of a pair and context of the patient, as a scorer sees them."""

    reference: str
    candidate: str
    context: PatientContext = NO_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedScore:
    """Result of a scorer for one pair."""

    status: str
    total: float | None = None
    quality: float | None = None
    sub_scores: list[float | None] | None = None
    error_counts: list[float | None] | None = None
    evidence: Any = None


def pair_key(reference: str, candidate: str, context: PatientContext = NO_CONTEXT) -> str:
    """Return a hash of a pair of texts, and of what is known of the patient."""
    values = [reference, candidate, *(context if context != NO_CONTEXT else ())]
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


class ScoreCache:
    """Scores of one scorer by `pair_key`.

    Args:
        path: SQLite file shared by all scorers, created if absent.
        fingerprint: Fingerprint of the scorer.

    Raises:
        InputError: If the file cannot be used; also by every method.

    >>> import tempfile
    >>> path, key = Path(tempfile.mkdtemp()) / "scores.sqlite", pair_key("a", "b")
    >>> ScoreCache(path, "f").put({key: CachedScore(total=0.5, status="ok")})
    >>> ScoreCache(path, "f").get([key])[key].total, ScoreCache(path, "other scorer").get([key])
    (0.5, {})
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._cache = SQLiteCache(path)

    def get(self, keys: Iterable[str]) -> dict[str, CachedScore]:
        """Return the cached scores of the keys."""
        prefix = f"{self._fingerprint}:"
        values = self._cache.get(dict.fromkeys(prefix + key for key in keys))
        return {key.removeprefix(prefix): CachedScore(**json.loads(value)) for key, value in values.items()}

    def put(self, scores: Mapping[str, CachedScore]) -> None:
        """Store scores; they survive a kill after this returns."""
        values = {}
        for key, score in scores.items():
            fields = {name: getattr(score, name) for name in CachedScore.__slots__}
            text = json.dumps({name: value for name, value in fields.items() if value is not None}, allow_nan=False)
            values[f"{self._fingerprint}:{key}"] = text.encode()
        self._cache.put(values)

    def __del__(self) -> None:
        if hasattr(self, "_cache"):  # absent if the file could not be opened
            self._cache.close()
