"""Preferences of raters between two candidates, and the accuracy of scorers on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from radreward.io.tables import write_table
from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    read_validated_rows,
    text_field,
)
from radreward.statistics.cluster_bootstrap import ratio_interval, resample_clusters
from radreward.text.patient_context import CONTEXT_COLUMNS, NO_CONTEXT, PatientContext, parse_context

Floats = NDArray[np.float64]
PreferredCandidate = Literal["a", "b", "equal", "neither"]
_EQUAL_TOLERANCE = 0.01
"""Scores that differ by less are equal."""
_CONFIDENCE_BANDS = ((1, 4), (5, 7), (8, 10))
"""Lowest and highest confidence of each band."""
_CONTEXT_TYPES = {"age": pa.float64(), "indication": pa.string()}
_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("id", "reference", "candidate_a", "candidate_b", "preferred", "group"), pa.string()),
        "confidence": pa.float64(),
        **{f"{name}_{side}": _CONTEXT_TYPES[name] for side in "ab" for name in CONTEXT_COLUMNS},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """Two candidates for one reference, and the preferred one.

    Attributes:
        id: Identifier, unique in a file.
        reference: Reference report.
        candidate_a: First candidate.
        candidate_b: Second candidate.
        preferred: "a" or "b"; "equal" if both should have the same score; "neither" if raters disagree.
        group: The case. Preferences of one case are resampled together.
        confidence: Confidence of the raters, 1 to 10; None if unknown.
        context_a: Age and indication of the patient for the first candidate, if known; some scorers use them.
        context_b: The same for the second candidate.
    """

    id: str
    reference: str
    candidate_a: str
    candidate_b: str
    preferred: PreferredCandidate
    group: str
    confidence: float | None = None
    context_a: PatientContext = NO_CONTEXT
    context_b: PatientContext = NO_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceAgreement:
    """Accuracy of a scorer on preferences; NaN if undefined.

    Attributes:
        confidence: Band of confidence; None for all preferences.
        n: Number of preferences with scores of both candidates, without "neither".
        accuracy: Share of these n that hold. A preference for one candidate holds if this candidate has the higher
            score; a tie counts as an error. "equal" holds if the scores differ by less than 0.01.
        low: Lower bound of the 95 % cluster-bootstrap interval.
        high: Upper bound.
        ties: Number of preferences for one candidate whose candidates have equal scores.
        unscored: Number of preferences left out because a candidate has no score.
        neither: Number of preferences left out because neither candidate is preferred.
        cases: Number of cases of the n preferences.
        cases_passed: Number of cases in which every preference holds.
    """

    confidence: tuple[float, float] | None
    n: int
    accuracy: float
    low: float
    high: float
    ties: int
    unscored: int
    neither: int
    cases: int
    cases_passed: int


def read_preferences(path: str | Path) -> list[Preference]:
    """Read preferences in any format of `read_rows`.

    Each row needs `id`, `reference`, `candidate_a`, `candidate_b` and `preferred` ("a", "b", "equal" or "neither").
    Optional are `group` (the case; defaults to the reference), `confidence` (1 to 10), and the patient's context for
    each candidate: `age_a`, `indication_a`, `age_b` and `indication_b`, see `PatientContext`. A context that cannot be
    read is ignored.

    Raises:
        InputError: If the file cannot be read, has no row, or has an invalid row. The message names the file, the row
            and the field.
    """
    return [entry for _, entry in read_validated_rows(path, _parse_preference, lambda entry: entry.id)]


def write_preferences(path: str | Path, preferences: Iterable[Preference]) -> None:
    """Write preferences in the format of `read_preferences`, atomically."""
    write_table(path, _SCHEMA, map(_to_row, preferences))


def preference_agreement(
    preferences: Sequence[Preference], scores_a: Floats, scores_b: Floats, n_resamples: int = 1000, seed: int = 0
) -> list[PreferenceAgreement]:
    """Return the accuracy on all preferences, then per band of confidence if it is known.

    Args:
        preferences: n preferences.
        scores_a: (n,) scores of the first candidates, higher is better, NaN if missing.
        scores_b: (n,) scores of the second candidates.
        n_resamples: Bootstrap resamples of cases; 0 for no intervals.
        seed: Seed of the bootstrap.

    >>> preferences = [
    ...     Preference(id=n, reference="r", candidate_a="x", candidate_b="y", preferred="a", group=n, confidence=9)
    ...     for n in "1234"
    ... ]
    >>> agreements = preference_agreement(preferences, np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 0, 1]), 0)
    >>> [(entry.confidence, entry.n, entry.accuracy) for entry in agreements]
    [(None, 4, 0.75), ((8, 10), 4, 0.75)]
    """
    numbers: dict[str, int] = {}
    cluster = np.array([numbers.setdefault(entry.group, len(numbers)) for entry in preferences], dtype=np.int64)
    counts = resample_clusters(len(numbers), n_resamples, seed)
    confidence = np.array([math.nan if entry.confidence is None else entry.confidence for entry in preferences])
    sign = np.array([{"a": 1, "b": -1}.get(entry.preferred, 0) for entry in preferences])
    is_equal = np.array([entry.preferred == "equal" for entry in preferences])
    is_judged = is_equal | (sign != 0)
    scored = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    difference = scores_a - scores_b
    correct = np.where(is_equal, np.abs(difference) < _EQUAL_TOLERANCE, np.sign(difference) == sign).astype(np.float64)
    agreements = []
    for band in (None, *_CONFIDENCE_BANDS):
        in_band = (confidence >= band[0]) & (confidence < band[1] + 1) if band else np.ones(len(sign), np.bool_)
        if band and not in_band.any():
            continue
        rows = in_band & scored & is_judged
        sums = np.bincount(cluster[rows], correct[rows], len(numbers)).astype(np.float64)
        sizes = np.bincount(cluster[rows], minlength=len(numbers)).astype(np.float64)
        low, high = ratio_interval(sums, sizes, counts)
        agreements.append(
            PreferenceAgreement(
                confidence=band,
                n=int(rows.sum()),
                accuracy=float(correct[rows].mean()) if rows.any() else math.nan,
                low=low,
                high=high,
                ties=int((scores_a == scores_b)[rows & ~is_equal].sum()),
                unscored=int((in_band & ~scored & is_judged).sum()),
                neither=int((in_band & ~is_judged).sum()),
                cases=len(set(cluster[rows])),
                cases_passed=len(set(cluster[rows]) - set(cluster[rows][correct[rows] == 0])),
            )
        )
    return agreements


def _to_row(entry: Preference) -> dict[str, Any]:
    contexts = {
        f"{name}_{side}": value
        for side, context in (("a", entry.context_a), ("b", entry.context_b))
        for name, value in context._asdict().items()
    }
    return contexts | {name: getattr(entry, name) for name in _SCHEMA.names if name not in contexts}


def _parse_preference(values: Mapping[str, Any]) -> Preference:
    reference = text_field(values, "reference")
    preferred: Any = values.get("preferred")
    if preferred not in get_args(PreferredCandidate):
        raise RowError(f"field 'preferred': Expected 'a', 'b', 'equal' or 'neither' but got {preferred!r}")
    return Preference(
        id=text_field(values, "id", allow_integer=True),
        reference=reference,
        candidate_a=text_field(values, "candidate_a"),
        candidate_b=text_field(values, "candidate_b"),
        preferred=preferred,
        group=optional_text_field(values, "group", allow_integer=True) or reference,
        confidence=number_field(values, "confidence", 1, 10),
        context_a=parse_context({name: values.get(f"{name}_a") for name in CONTEXT_COLUMNS}),
        context_b=parse_context({name: values.get(f"{name}_b") for name in CONTEXT_COLUMNS}),
    )
