"""Error counts nested by rater, criterion and significance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, read_validated_rows
from radreward.meta_evaluation.rated_pairs_io import RatedPair

_LEVELS = ("significant", "insignificant")


def read_nested_counts(source: Path) -> Iterator[RatedPair]:
    """A pair for each row: `id`, `reference`, `candidate`, `raters` and, if wanted, `group` and `system`.

    `raters` is a mapping from rater to criterion to a count, or to `significant` and `insignificant` counts; these two
    may also stand above the criteria.

    Args:
        source: JSONL, or CSV or Parquet in which `raters` is JSON.

    Raises:
        InputError: If there are rows that cannot be used.
    """
    own: dict[str, str] = {}
    for _, row in read_validated_rows(source, _parse_row):
        yield row if row.group else row._replace(group=own.setdefault(row.reference, row.id))


def _parse_row(values: Mapping[str, Any]) -> RatedPair:
    raters = values.get("raters")
    if isinstance(raters, str):
        try:
            raters = json.loads(raters)
        except (ValueError, RecursionError) as error:
            raise RowError(f"field 'raters': expected JSON ({error})") from error
    if not isinstance(raters, Mapping) or not raters:
        raise RowError(f"field 'raters': expected a mapping from rater to counts but got {raters!r}")
    errors: dict[str, dict[str, float]] = {}
    significant: dict[str, dict[str, float]] = {}
    for rater, counts in raters.items():
        errors[rater], apart = _parse_counts(counts, f"raters.{rater}")
        if apart:
            significant[rater] = apart
    group = text_field(values, "group", allow_integer=True) if values.get("group") not in (None, "") else ""
    return RatedPair(
        text_field(values, "id", allow_integer=True),
        text_field(values, "reference"),
        text_field(values, "candidate"),
        group,
        text_field(values, "system") if values.get("system") else None,
        {},
        errors,
        significant,
    )


def _parse_counts(counts: Any, field: str) -> tuple[dict[str, float], dict[str, float]]:
    """All errors, and the significant ones where these are counted apart."""
    if not isinstance(counts, Mapping):
        raise RowError(f"field {field!r}: expected a mapping from criterion to count but got {counts!r}")
    if set(counts) == set(_LEVELS):  # turned about
        if not all(
            isinstance(counts[level], Mapping) and set(counts[level]) == set(counts[_LEVELS[0]]) for level in _LEVELS
        ):
            raise RowError(f"field {field!r}: expected the same criteria under significant and insignificant")
        counts = {tag: {level: counts[level][tag] for level in _LEVELS} for tag in counts[_LEVELS[0]]}
    every: dict[str, float] = {}
    significant: dict[str, float] = {}
    for tag, value in counts.items():
        where = f"{field}.{tag}"
        if isinstance(value, Mapping):
            if set(value) != set(_LEVELS):
                raise RowError(f"field {where!r}: expected significant and insignificant but got {', '.join(value)}")
            significant[tag], other = (_parse_number(value[level], f"{where}.{level}") for level in _LEVELS)
            every[tag] = significant[tag] + other
        else:
            every[tag] = _parse_number(value, where)
    if significant and len(significant) < len(every):
        raise RowError(f"field {field!r}: expected all criteria, or none, to tell significant errors apart")
    return every, significant


def _parse_number(value: Any, field: str) -> float:
    number = number_field({field: value}, field, 0, 1000)
    return float("nan") if number is None else number
