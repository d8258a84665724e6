"""Files of rated pairs: one layout for all sources."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.entry_lists import entry_list_type, from_entries
from radreward.io.tables import is_valid_utf8, read_rows, write_table
from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    parse_json_cell,
    raise_row_errors,
    read_validated_rows,
    text_field,
)
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, Errors, RatedPair, RatedPairs, Ratings, group_by_reference
from radreward.prompts.parsing import MAX_COUNT
from radreward.text.patient_context import CONTEXT_COLUMNS, parse_context, unreadable_context

_MAX_NOTES = 5
_RATER_PREFIX = "rating_"
"""Prefix of a column with the ratings of one rater."""
_FIELDS = {
    **{name: name for name in ("id", "reference", "candidate", "group", "system", "synthetic")},
    **{"rating": "ratings", "errors": "errors", "errors_significant": "significant_errors", "rater_notes": "notes"},
}
"""Column of a file → attribute of `RatedPair`."""


def read_rated_pairs(path: str | Path, rater: str | None = None) -> RatedPairs:
    """Read rated pairs in any format of `read_rows`.

    Each row needs `id`, `reference` and `candidate`. Optional columns:

    - `group`: the case. By default, rows with equal references are one case.
    - `system`: the system that wrote the candidate.
    - `rating`: a number, a list with one number per rater, or a mapping from rater to number; higher is better.
    - `rating_NAME`: a number, the rating of this rater; in place of `rating`.
    - `errors` and `errors_significant`: criterion → count, or rater → criterion → count.
    - `synthetic`: true if a program generated and counted the errors.
    - `rater_notes`: a mapping from rater to note.
    - `age` and `indication`: see `PatientContext`. Values that cannot be read are ignored. A note states their number.

    In CSV, lists and mappings are JSON. Null and NaN mean that the rater gave no value.

    Args:
        path: The file.
        rater: Read the ratings and errors of this rater only.

    Raises:
        InputError: If the file cannot be read, has no row, has an invalid row, or lacks the rater. The message names
            the file, the row and the field.
    """
    notes: list[str] = []
    numbers = array("Q")  # row number of each pair
    unreadable: Counter[str] = Counter()
    raters: set[str] = set()

    def parse(values: Mapping[str, Any]) -> RatedPair:
        unreadable.update(unreadable_context(values))
        pair = _parse_pair(values)
        raters.update(name for by_rater in _judgements(pair).values() for name in by_rater)
        return pair if rater is None else _select_rater(pair, rater)

    def read() -> Iterator[RatedPair]:
        first_rows: dict[str, int] = {}  # by id
        for number, row in read_validated_rows(path, parse):
            if row.id in first_rows:
                notes.append(f"id {row.id!r} is in row {first_rows[row.id]} and in row {number}; both are used")
                row = replace(row, id=f"{row.id}#{number}")
            first_rows[row.id] = number
            numbers.append(number)
            yield row

    pairs = RatedPairs(group_by_reference(read()))
    if rater is not None and rater not in raters:
        raise InputError(_missing_rater_message(path, rater, sorted(raters)))
    named_rows = ((f"row {number}", row) for number, row in zip(numbers, pairs.rows, strict=True))
    if errors := criteria_mismatches(named_rows):
        raise_row_errors(path, errors)
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"{len(notes) - _MAX_NOTES} more ids are duplicates"]
    notes += [f"{count} pairs have an unreadable {name}, which is ignored" for name, count in unreadable.items()]
    pairs.notes = (*notes, *pairs.notes)
    return pairs


def unrated_message(path: str | Path) -> str:
    """Return the message for a file of pairs in which no pair is rated; it names the columns of the first rows."""
    rows = next(read_rows(path), [])
    columns = dict.fromkeys(str(name) for row in rows for name in row.values)
    return (
        f"{path}: Expected `rating` or `errors` of some pair but found neither; the columns are {', '.join(columns)}. "
        "Name the column of the ratings `rating`, or with several raters one column each, such as `rating_Anne` and "
        "`rating_Bela`."
    )


def _missing_rater_message(path: str | Path, rater: str, raters: Sequence[str]) -> str:
    if not raters:
        return unrated_message(path)
    if raters == [MEAN_RATER]:
        return (
            f"{path}: Expected judgements of rater {rater!r} but got judgements without a rater's name. Omit --rater, "
            "or write the ratings of each rater in a column, such as `rating_Anne`."
        )
    return (
        f"{path}: Expected judgements of rater {rater!r} but got those of {', '.join(raters)}. Give --rater one of "
        "these names, or omit it for the mean over all raters."
    )


def write_rated_pairs(path: str | Path, rows: Iterable[RatedPair]) -> None:
    """Write pairs in the format of `read_rated_pairs`, atomically."""
    numbers = entry_list_type(pa.float64())
    counts = entry_list_type(numbers)
    types = {
        "synthetic": pa.bool_(),
        "age": pa.float64(),
        "rating": numbers,
        "errors": counts,
        "errors_significant": counts,
        "rater_notes": entry_list_type(pa.string()),
    }
    schema = pa.schema([(column, types.get(column, pa.string())) for column in (*_FIELDS, *CONTEXT_COLUMNS)])
    write_table(path, schema, (_to_row(row) for row in rows))


def _judgements(pair: RatedPair) -> dict[str, Mapping[str, Any]]:
    """Return the judgements of a pair: attribute → rater → value."""
    return {name: getattr(pair, name) for name in ("ratings", "errors", "significant_errors")}


def _select_rater(pair: RatedPair, rater: str) -> RatedPair:
    judgements: dict[str, Any] = {
        name: {rater: by_rater[rater]} if rater in by_rater else {} for name, by_rater in _judgements(pair).items()
    }
    return replace(pair, **judgements, notes={name: note for name, note in pair.notes.items() if name == rater})


def _to_row(row: RatedPair) -> dict[str, Any]:
    values = {column: getattr(row, attribute) for column, attribute in _FIELDS.items()} | row.context._asdict()
    return {name: _nan_to_none(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _nan_to_none(value: Mapping[str, Any]) -> dict[str, Any] | None:
    converted = {
        key: _nan_to_none(entry) if isinstance(entry, Mapping) else (None if entry != entry else entry)
        for key, entry in value.items()
    }
    return converted or None


def _parse_pair(values: Mapping[str, Any]) -> RatedPair:
    pair = RatedPair(
        id=text_field(values, "id", allow_integer=True),
        reference=_possibly_empty_text(values, "reference"),
        candidate="" if values.get("candidate", "") is None else _possibly_empty_text(values, "candidate"),
        group=optional_text_field(values, "group", allow_integer=True) or "",
        system=optional_text_field(values, "system"),
        ratings=_parse_rating_columns(values),
        errors=_parse_errors(values, "errors"),
        significant_errors=_parse_errors(values, "errors_significant"),
        context=parse_context(values),
        synthetic=_parse_flag(_decode_cell(values.get("synthetic"), "synthetic")),
        notes=_parse_notes(values),
    )
    for rater, counts in pair.significant_errors.items():
        for tag, number in counts.items():
            if number > pair.errors.get(rater, {}).get(tag, math.inf):
                raise RowError(
                    f"field 'errors_significant': Expected at most the number of all errors of {tag!r} "
                    f"but got {number:g}"
                )
    return pair


def _possibly_empty_text(values: Mapping[str, Any], field: str) -> str:
    """Return a text, which may be empty: the scorers decide how to score empty reports."""
    if field not in values:
        raise RowError(f"field {field!r}: Expected a column of this name")
    value = values[field]
    if not isinstance(value, str) or not is_valid_utf8(value):
        raise RowError(f"field {field!r}: Expected a text but got {value!r}")
    return value


def _parse_flag(value: Any) -> bool:
    if value not in (None, True, False):
        raise RowError(f"field 'synthetic': Expected true or false but got {value!r}")
    return bool(value)


def _parse_notes(values: Mapping[str, Any]) -> dict[str, str]:
    value = from_entries(parse_json_cell(values.get("rater_notes"), "rater_notes"))
    if not value:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(note, str) for note in value.values()):
        raise RowError(f"field 'rater_notes': Expected a mapping from rater to note but got {value!r}")
    return {str(rater): note for rater, note in value.items()}


def _decode_cell(value: Any, field: str) -> Any:
    """Return the JSON value of a CSV cell, the mapping of a Parquet cell, and any other value as it is."""
    if isinstance(value, str):
        try:
            return json.loads(value.lower() if field == "synthetic" else value) if value.strip() else None
        except (ValueError, RecursionError) as error:
            remedy = "; write a number, such as 4, or one per rater in a JSON object" if field == "rating" else ""
            raise RowError(f"field {field!r}: Expected a number or JSON but got {value!r}{remedy}") from error
    return from_entries(value)


def _parse_rating_columns(values: Mapping[str, Any]) -> Ratings:
    """Return the ratings in the column `rating`, or in one column per rater, where an empty cell is no rating."""
    by_column = {
        str(name): number_field(values, name, -math.inf, math.inf)
        for name in values
        if str(name).startswith(_RATER_PREFIX)
    }
    ratings = {name.removeprefix(_RATER_PREFIX): value for name, value in by_column.items() if value is not None}
    if "" in ratings:
        raise RowError(f"field {_RATER_PREFIX!r}: Expected the name of a rater after it, such as `rating_Anne`")
    shared = _parse_ratings(_decode_cell(values.get("rating"), "rating"))
    if ratings and not all(map(math.isnan, shared.values())):
        raise RowError(
            f"field 'rating': Expected `rating` or one column per rater but got both, with {min(by_column)!r}"
        )
    return ratings or shared


def _parse_ratings(value: Any) -> Ratings:
    if value is None:
        return {}
    if isinstance(value, list):
        value = {str(number): entry for number, entry in enumerate(value, 1)}
    elif not isinstance(value, Mapping):
        value = {MEAN_RATER: value}
    return {str(rater): _parse_rating(entry, str(rater)) for rater, entry in value.items()}


def _parse_rating(value: Any, rater: str) -> float:
    if isinstance(value, str):
        raise RowError(
            f"field 'rating': Expected a number of rater {rater!r} but got the text {value!r}; write a number without "
            "quotes"
        )
    return _parse_number(value, "rating", -math.inf, math.inf)


def _parse_errors(values: Mapping[str, Any], field: str) -> Errors:
    value = _decode_cell(values.get(field), field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RowError(f"field {field!r}: Expected a mapping from criterion to count, or from rater to such a mapping")
    if any(isinstance(entry, Mapping) for entry in value.values()):
        by_rater = {rater: entry for rater, entry in value.items() if entry is not None}
        if invalid := [entry for entry in by_rater.values() if not isinstance(entry, Mapping)]:
            raise RowError(f"field {field!r}: Expected a mapping for each rater but got {invalid[0]!r}")
    else:
        by_rater = {MEAN_RATER: value} if value else {}
    return {
        str(rater): {str(tag): _parse_number(entry, f"{field}.{tag}", 0, MAX_COUNT) for tag, entry in counts.items()}
        for rater, counts in by_rater.items()
    }


def _parse_number(value: Any, field: str, minimum: float, maximum: float) -> float:
    if value is None:
        return math.nan
    try:
        is_number = isinstance(value, bool | int | float) and not math.isinf(value)
        if is_number and (math.isnan(value) or minimum <= value <= maximum):
            return float(value)
    except OverflowError:
        pass  # an integer too large for a float
    expected = "a finite number" if math.isinf(minimum) else f"a number from {minimum:g} to {maximum:,}"
    raise RowError(f"field {field!r}: Expected {expected} but got {value!r}")


def criteria_mismatches(rows: Iterable[tuple[str, RatedPair]]) -> list[str]:
    """Return one message per row whose criteria differ from the criteria of the first row, as a missing count is not 0.

    Args:
        rows: Name of each row, such as "row 3", and its pair.
    """
    expected: dict[str, set[str]] = {}
    errors: dict[str, list[str]] = {"errors": [], "errors_significant": []}
    for name, row in rows:
        for column, messages in errors.items():
            for counts in getattr(row, _FIELDS[column]).values():
                tags = expected.setdefault(column, set(counts))
                if different := sorted(set(counts) ^ tags):
                    what = "a count" if different[0] in tags else "no count"
                    messages.append(
                        f"{name}: field {column!r}: Expected {what} of {different[0]!r}, as in the rows before; write "
                        "0 for no errors"
                    )
                    break
    return [*errors["errors"], *errors["errors_significant"]]
