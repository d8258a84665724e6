"""Preferences: which of two candidates people like better, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from radreward.data.records import RowError, text_field
from radreward.io.tables import write_table
from radreward.io.validated_rows import number_field, raise_row_errors, read_validated_rows
from radreward.statistics.cluster_bootstrap import percentile_interval, resample_clusters

Floats = NDArray[np.float64]
PreferredCandidate = Literal["one", "other", "neither"]
CONFIDENCE_BANDS = ((1, 4), (5, 7), (8, 10))
"""Bands of confidence, both ends with it."""
_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("id", "reference", "one", "other", "preferred", "group"), pa.string()),
        "confidence": pa.float64(),
    }
)


class Preference(NamedTuple):
    """Two candidates of one reference, and the one that is preferred."""

    id: str
    reference: str
    candidate_a: str
    candidate_b: str
    preferred: PreferredCandidate
    group: str
    """The case."""
    confidence: float | None = None
    """Of who chose, 1 to 10."""


class PreferenceAgreement(NamedTuple):
    """How often a scorer prefers what people prefer."""

    confidence: tuple[float, float] | None
    """Lowest and highest confidence; None for all."""
    n: int
    """Preferences of which both candidates have a score."""
    accuracy: float
    low: float
    """Lower end of the 95 % interval, over cases drawn anew."""
    high: float
    ties: int
    """Of these, how many in which the scorer gives both the same, which is not right."""
    unscored: int
    """Left out because a candidate has no score."""
    neither: int
    """Left out because people prefer neither."""


def read_preferences(path: str | Path) -> list[Preference]:
    """Preferences from JSONL, CSV or Parquet.

    A row has `id`, `reference`, `one` and `other` (the candidates), `preferred` ("one", "other" or "neither") and, as
    far as known, `group` (the case; else the reference is) and `confidence` (1 to 10).

    Raises:
        InputError: If the file cannot be read, has no row, or has rows that cannot be used; the message names file,
            row, field and what was expected.
    """
    first: dict[str, int] = {}
    problems = []
    rows = read_validated_rows(path, _parse_preference)
    for number, entry in rows:
        if (before := first.setdefault(entry.id, number)) != number:
            problems.append(f"row {number}: field 'id': expected a new id but {entry.id!r} is in row {before}")
    if problems:
        raise_row_errors(path, problems)
    return [entry for _, entry in rows]


def write_preferences(path: str | Path, preferences: Iterable[Preference]) -> None:
    """Write preferences as `read_preferences` reads them; the file appears when it is complete."""
    write_table(path, _SCHEMA, ({name: entry._asdict()[name] for name in _SCHEMA.names} for entry in preferences))


def preference_agreement(
    preferences: Sequence[Preference], scores_a: Floats, scores_b: Floats, n_resamples: int = 1000, seed: int = 0
) -> list[PreferenceAgreement]:
    """How often the candidate that people prefer has the higher score: in all, and by confidence where it is told.

    Where people prefer neither, nothing can be right, and the row is left out.

    Args:
        entries: n preferences.
        one: (n,) scores of the first candidates, higher is better, NaN where there is none.
        other: (n,) of the other candidates.
        draws: Draws of cases for the intervals.
        seed: Of the draws.

    >>> entries = [Preference(str(n), "r", "a", "b", "one", str(n), 9.0) for n in range(4)]
    >>> found = preference_agreement(entries, np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 0, 1]), 0)
    >>> [(entry.confidence, entry.n, entry.accuracy) for entry in found]
    [(None, 4, 0.75), ((8, 10), 4, 0.75)]
    """
    sign = np.array([{"one": 1, "other": -1, "neither": 0}[entry.preferred] for entry in preferences])
    scored = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    right = (np.sign(scores_a - scores_b) == sign).astype(np.float64)
    sure = np.array([math.nan if entry.confidence is None else entry.confidence for entry in preferences])
    numbers: dict[str, int] = {}
    case = np.array([numbers.setdefault(entry.group, len(numbers)) for entry in preferences])
    counts = resample_clusters(len(numbers), n_resamples, seed)
    found = []
    for band in (None, *CONFIDENCE_BANDS):
        inside = (sure >= band[0]) & (sure < band[1] + 1) if band else np.ones(len(preferences), np.bool_)
        if band and not inside.any():
            continue
        rows = inside & scored & (sign != 0)
        low = high = accuracy = math.nan
        if rows.any():
            accuracy = float(right[rows].mean())
            sums = np.bincount(case[rows], right[rows], len(numbers))
            with np.errstate(invalid="ignore"):
                drawn = (counts @ sums) / (counts @ np.bincount(case[rows], minlength=len(numbers)))
            low, high = map(float, percentile_interval(drawn)) if n_resamples else (math.nan, math.nan)
        left_out = int((inside & ~scored & (sign != 0)).sum()), int((inside & (sign == 0)).sum())
        equal = int((scores_a == scores_b)[rows].sum())
        found.append(PreferenceAgreement(band, int(rows.sum()), accuracy, low, high, equal, *left_out))
    return found


def _parse_preference(values: Mapping[str, Any]) -> Preference:
    name = text_field(values, "id", allow_integer=True)
    reference, one, other = (text_field(values, field) for field in ("reference", "one", "other"))
    preferred = values.get("preferred")
    if preferred not in ("one", "other", "neither"):
        raise RowError(f"field 'preferred': expected 'one', 'other' or 'neither' but got {preferred!r}")
    group = text_field(values, "group", allow_integer=True) if values.get("group") not in (None, "") else reference
    return Preference(name, reference, one, other, preferred, group, number_field(values, "confidence", 1, 10))
