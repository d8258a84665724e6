"""Cache of scores in an SQLite file: a resumed or repeated run scores only new pairs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from radreward.io.cache import SQLiteCache
from radreward.score_outputs import OUTPUTS, ScoreOutput
from radreward.scorers.status import SCORED_STATUSES
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.types import Scores

_READ_SIZE = 1_024
"""Number of scores per read."""


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
    errors: float | None = None
    sub_scores: list[float | None] | None = None
    error_counts: list[float | None] | None = None
    evidence: Any = None

    def output(self, name: ScoreOutput) -> float | None:
        """Return the value of an output."""
        value: float | None = getattr(self, name)
        return value


def pair_key(reference: str, candidate: str, context: PatientContext = NO_CONTEXT) -> str:
    """Return a hash of a pair of texts and of the patient's context."""
    values = [reference, candidate, *(context if context != NO_CONTEXT else ())]
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def cached_scores(scores: Scores, number: int) -> list[CachedScore]:
    """Return the result of each pair. A score that is not finite is replaced by a status with the reason.

    Args:
        scores: Scores of a scorer, which may be user code.
        number: Number of pairs.

    Raises:
        ValueError: If the scorer returned a different number of totals or statuses.
    """
    for what, values in (("totals", scores.total), ("statuses", scores.status)):
        if len(values) != number:
            raise ValueError(f"Expected {number} {what}, one for each pair, but got {len(values)}.")
    results = []
    for index, (total, status) in enumerate(zip(scores.total.double().tolist(), scores.status, strict=True)):
        if not math.isfinite(total) and status in SCORED_STATUSES:
            status = f"Expected a finite score but got {total}"
        sub_scores, error_counts = (
            None if values is None or not values[index].isfinite().any() else to_jsonable(values[index].tolist())
            for values in (scores.sub_scores, scores.error_counts)
        )
        results.append(
            CachedScore(
                **{
                    name: None if values is None else to_jsonable(float(values[index]))
                    for name in OUTPUTS
                    for values in [getattr(scores, name)]
                },
                status=status,
                sub_scores=sub_scores,
                error_counts=error_counts,
                evidence=None if scores.evidence is None else to_jsonable(scores.evidence[index]),
            )
        )
    return results


def to_jsonable(value: Any) -> Any:
    """Return a value as JSON: records as mappings, numbers that are not finite as null, unknown types as text."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): to_jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


class ScoreCache:
    """Scores of one scorer by `pair_key`.

    Args:
        path: SQLite file shared by all scorers, created if absent.
        fingerprint: Fingerprint of the scorer.

    Raises:
        InputError: If the file cannot be used. Every method may raise this.

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
        """Return the scores of those keys that are cached."""
        prefix = f"{self._fingerprint}:"
        values = self._cache.get(dict.fromkeys(prefix + key for key in keys))
        return {key.removeprefix(prefix): CachedScore(**json.loads(value)) for key, value in values.items()}

    def read(self, keys: Sequence[str]) -> Iterator[CachedScore | None]:
        """Yield the score of each key in order, or None if it is not cached.

        Only a few scores are in memory at a time.
        """
        for start in range(0, len(keys), _READ_SIZE):
            part = keys[start : start + _READ_SIZE]
            scores = self.get(part)
            yield from map(scores.get, part)

    def put(self, scores: Mapping[str, CachedScore]) -> None:
        """Store scores. Once this returns, they survive if the process is killed."""
        values = {}
        for key, score in scores.items():
            fields = {name: getattr(score, name) for name in CachedScore.__slots__}
            text = json.dumps({name: value for name, value in fields.items() if value is not None}, allow_nan=False)
            values[f"{self._fingerprint}:{key}"] = text.encode()
        self._cache.put(values)

    def __del__(self) -> None:
        if hasattr(self, "_cache"):  # absent if the file could not be opened
            self._cache.close()
