"""Error counts nested by rater, criterion and significance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    parse_json_cell,
    read_validated_rows,
    text_field,
)
from radreward.meta_evaluation.rated_pairs import RatedPair, group_by_reference

_LEVELS = ("significant", "insignificant")


def read_nested_counts(source: Path) -> Iterator[RatedPair]:
    """Return one pair per row with `id`, `reference`, `candidate`, `raters` and optionally `group` and `system`.

    `raters` maps rater → criterion → count, rater → criterion → significance → count, or rater → significance →
    criterion → count. Significance is `significant` or `insignificant`.

    Args:
        source: JSONL, or CSV or Parquet with `raters` as JSON.

    Raises:
        InputError: If a row is invalid.
    """
    return group_by_reference(row for _, row in read_validated_rows(source, _parse_row))


def _parse_row(values: Mapping[str, Any]) -> RatedPair:
    raters = parse_json_cell(values.get("raters"), "raters")
    if not isinstance(raters, Mapping) or not raters:
        raise RowError(f"field 'raters': Expected a mapping from rater to counts but got {raters!r}")
    counts = {rater: _parse_counts(entry, f"raters.{rater}") for rater, entry in raters.items()}
    return RatedPair(
        id=text_field(values, "id", allow_integer=True),
        reference=text_field(values, "reference"),
        candidate=text_field(values, "candidate"),
        group=optional_text_field(values, "group", allow_integer=True) or "",
        system=optional_text_field(values, "system"),
        errors={rater: errors for rater, (errors, _) in counts.items()},
        significant_errors={rater: significant for rater, (_, significant) in counts.items() if significant},
    )


def _parse_counts(counts: Any, field: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return all errors, and the significant ones if they are counted separately."""
    if not isinstance(counts, Mapping):
        raise RowError(f"field {field!r}: Expected a mapping from criterion to count but got {counts!r}")
    if set(counts) == set(_LEVELS):
        counts = _criteria_first(counts, field)
    errors: dict[str, float] = {}
    significant: dict[str, float] = {}
    for tag, value in counts.items():
        name = f"{field}.{tag}"
        if isinstance(value, Mapping):
            if set(value) != set(_LEVELS):
                raise RowError(f"field {name!r}: Expected significant and insignificant but got {', '.join(value)}")
            significant[tag], insignificant = (_parse_number(value[level], f"{name}.{level}") for level in _LEVELS)
            errors[tag] = significant[tag] + insignificant
        else:
            errors[tag] = _parse_number(value, name)
    if significant and len(significant) < len(errors):
        raise RowError(
            f"field {field!r}: Expected separate significant errors for all criteria or for none but got them for some"
        )
    return errors, significant


def _criteria_first(counts: Mapping[str, Any], field: str) -> dict[str, dict[str, Any]]:
    """Return significance → criterion → count as criterion → significance → count."""
    levels = [counts[level] for level in _LEVELS]
    if not all(isinstance(level, Mapping) and set(level) == set(levels[0]) for level in levels):
        raise RowError(
            f"field {field!r}: Expected the same criteria under significant and insignificant but got different ones"
        )
    return {tag: {level: counts[level][tag] for level in _LEVELS} for tag in levels[0]}


def _parse_number(value: Any, field: str) -> float:
    number = number_field({field: value}, field, 0, 1000)
    return float("nan") if number is None else number
