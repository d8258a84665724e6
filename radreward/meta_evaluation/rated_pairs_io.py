"""Rated pairs: reports that people judged against references, in one format for every source."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.data.records import RowError, text_field
from radreward.io.tables import is_valid_utf8, write_table
from radreward.io.validated_rows import raise_row_errors, read_validated_rows
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, Errors, RatedPair, RatedPairs, Ratings

__all__ = ["MEAN_RATER", "RatedPair", "RatedPairs", "read_rated_pairs", "write_rated_pairs"]

_MAX_NOTES = 5
_COLUMNS = ("id", "reference", "candidate", "group", "system", "synthetic", "rating", "errors", "errors_significant")


def read_rated_pairs(path: str | Path) -> RatedPairs:
    """Rated pairs from JSONL, CSV or Parquet.

    A row has `id`, `reference`, `candidate` and, as far as known, `group` (the case; without it rows of equal
    references are a case), `system`, `rating` (a number, a list with one per rater, or a mapping from rater to number;
    higher is better), `errors` and `errors_significant` (criterion → count, or rater → criterion → count) and
    `synthetic`. In CSV what is no text or number is JSON. A number that is null or NaN is one that nobody gave.

    Raises:
        InputError: If the file cannot be read, has no row, or has rows that cannot be used; the message names file,
            row, field and what was expected.
    """
    rows: list[RatedPair] = []
    notes: list[str] = []
    first: dict[str, int] = {}
    texts: dict[Hashable, Any] = {}
    own: dict[str, str] = {}
    for number, row in read_validated_rows(path, lambda values: _intern(_parse_pair(values), texts)):
        if row.id in first:
            notes.append(f"id {row.id!r} is in row {first[row.id]} and in row {number}; both are kept")
            row = row._replace(id=f"{row.id}#{number}")
        first[row.id] = number
        rows.append(row if row.group else row._replace(group=own.setdefault(row.reference, row.id)))
    if problems := _criteria_mismatches(rows, first):
        raise_row_errors(path, problems)
    return RatedPairs(rows, _shorten_notes(notes))


def write_rated_pairs(path: str | Path, rows: Iterable[RatedPair]) -> None:
    """Write pairs as `read_rated` reads them; the file appears when it is complete."""
    number = pa.map_(pa.string(), pa.float64())
    kinds = {"synthetic": pa.bool_(), "rating": number, "errors": pa.map_(pa.string(), number)}
    kinds["errors_significant"] = kinds["errors"]
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in _COLUMNS])
    write_table(path, schema, (_to_row(row) for row in rows))


def _to_row(row: RatedPair) -> dict[str, Any]:
    values = row._asdict()
    values["rating"], values["errors_significant"] = values.pop("ratings"), values.pop("significant")
    values = {name: values[name] for name in _COLUMNS}
    return {name: _nan_to_none(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _nan_to_none(value: Mapping[str, Any]) -> dict[str, Any] | None:
    found = {
        key: _nan_to_none(entry) if isinstance(entry, Mapping) else (None if entry != entry else entry)
        for key, entry in value.items()
    }
    return found or None


def _intern(row: RatedPair, interned: dict[Hashable, Any]) -> RatedPair:
    """The same row, of which what is equal in many rows is held once: references, names, and what raters said."""

    def once(value: Any) -> Any:
        if isinstance(value, Mapping):
            entries = {once(key): once(entry) for key, entry in value.items()}
            if any(isinstance(entry, Mapping) for entry in value.values()):
                return entries
            return interned.setdefault((once(tuple(entries)), *entries.values()), entries)
        return interned.setdefault(value, value) if value == value else value

    names = ("reference", "group", "system", "ratings", "errors", "significant")
    return row._replace(**{name: once(getattr(row, name)) for name in names})


def _parse_pair(values: Mapping[str, Any]) -> RatedPair:
    name = text_field(values, "id", allow_integer=True)
    group = text_field(values, "group", allow_integer=True) if values.get("group") not in (None, "") else ""
    system = values.get("system")
    if system is not None and (not isinstance(system, str) or not is_valid_utf8(system)):
        raise RowError(f"field 'system': expected a text but got {system!r}")
    found = RatedPair(
        name,
        _optional_text(values, "reference"),
        "" if values.get("candidate", "") is None else _optional_text(values, "candidate"),
        group,
        system or None,
        _parse_ratings(_decode_cell(values.get("rating"), "rating")),
        _parse_errors(_decode_cell(values.get("errors"), "errors"), "errors"),
        _parse_errors(_decode_cell(values.get("errors_significant"), "errors_significant"), "errors_significant"),
        _parse_flag(_decode_cell(values.get("synthetic"), "synthetic")),
    )
    for rater, counted in found.significant_errors.items():
        for tag, number in counted.items():
            if number > found.errors.get(rater, {}).get(tag, math.inf):
                raise RowError(
                    f"field 'errors_significant': expected no more than all errors by {tag!r} but got {number:g}"
                )
    return found


def _optional_text(values: Mapping[str, Any], field: str) -> str:
    """A text that may be empty: a report that is, is for the scorers to judge."""
    if field not in values:
        raise RowError(f"field {field!r}: expected a column of this name")
    value = values[field]
    if not isinstance(value, str) or not is_valid_utf8(value):
        raise RowError(f"field {field!r}: expected a text but got {value!r}")
    return value


def _parse_flag(value: Any) -> bool:
    if value not in (None, True, False):
        raise RowError(f"field 'synthetic': expected true or false but got {value!r}")
    return bool(value)


def _decode_cell(value: Any, field: str) -> Any:
    """A cell of CSV as what it says; a map of Arrow as a mapping."""
    if isinstance(value, str):
        try:
            return json.loads(value.lower() if field == "synthetic" else value) if value.strip() else None
        except (ValueError, RecursionError) as error:
            raise RowError(f"field {field!r}: expected a number or JSON but got {value!r}") from error
    if isinstance(value, list) and value and all(isinstance(entry, tuple) and len(entry) == 2 for entry in value):
        return {key: _decode_cell(entry, field) for key, entry in value}
    return value


def _parse_ratings(value: Any) -> Ratings:
    if value is None:
        return {}
    if isinstance(value, list):
        value = {str(place): entry for place, entry in enumerate(value, 1)}
    elif not isinstance(value, Mapping):
        value = {MEAN_RATER: value}
    return {str(rater): _parse_number(entry, "rating", -math.inf) for rater, entry in value.items()}


def _parse_errors(value: Any, field: str) -> Errors:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RowError(f"field {field!r}: expected a mapping from criterion to count, or from rater to such a mapping")
    value = {key: _decode_cell(entry, field) if isinstance(entry, list) else entry for key, entry in value.items()}
    nested = [isinstance(entry, Mapping) for entry in value.values()]
    if any(nested):
        by_rater = {rater: entry for rater, entry in value.items() if entry is not None}
        if wrong := [entry for entry in by_rater.values() if not isinstance(entry, Mapping)]:
            raise RowError(f"field {field!r}: expected a mapping for each rater but got {wrong[0]!r}")
    else:
        by_rater = {MEAN_RATER: value} if value else {}
    return {
        str(rater): {str(tag): _parse_number(entry, f"{field}.{tag}", 0) for tag, entry in counts.items()}
        for rater, counts in by_rater.items()
    }


def _parse_number(value: Any, field: str, minimum: float) -> float:
    if value is None:
        return math.nan
    try:
        if isinstance(value, bool | int | float) and not math.isinf(value) and not value < minimum:
            return float(value)
    except OverflowError:
        pass  # an integer that no float holds
    expected = "a finite number" if math.isinf(minimum) else f"a finite number >= {minimum:g}"
    raise RowError(f"field {field!r}: expected {expected} but got {value!r}")


def _criteria_mismatches(rows: Sequence[RatedPair], row_numbers: Mapping[str, int]) -> list[str]:
    """Rows that count by other criteria than the first that counts: whether 0 was meant would be guessed."""
    problems = []
    for field in ("errors", "significant"):
        expected: set[str] | None = None
        for row in rows:
            for counts in getattr(row, field).values():
                expected = set(counts) if expected is None else expected
                if different := sorted(set(counts) ^ expected):
                    name = "errors" if field == "errors" else "errors_significant"
                    what = "a count" if different[0] in expected else "no count"
                    problems.append(
                        f"row {row_numbers[row.id]}: field {name!r}: expected {what} by {different[0]!r}, as in rows "
                        "before; 0 says that there is no error"
                    )
                    break
    return problems


def _shorten_notes(notes: Sequence[str]) -> list[str]:
    return [
        *notes[:_MAX_NOTES],
        *([f"{len(notes) - _MAX_NOTES} more ids are there twice"] if len(notes) > _MAX_NOTES else []),
    ]
