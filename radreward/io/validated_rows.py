"""Files in which every row must be valid: readers that report every invalid row, and checks of fields."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8, read_rows

T = TypeVar("T")
_MAX_REPORTED = 5


class RowError(ValueError):
    """An invalid row; the reader adds file and row number to the message."""


def read_validated_rows(
    path: str | Path, parse: Callable[[Mapping[str, Any]], T], id_of: Callable[[T], str] | None = None
) -> Iterator[tuple[int, T]]:
    """Yield the number and the parsed values of each valid row, then report all invalid rows.

    Args:
        path: Input in a format of `read_rows`.
        parse: Parses the values of a row; raises `RowError` if they are invalid.
        id_of: Returns the id of the parsed values; a row with the id of an earlier row is invalid. By default, ids are
            not compared.

    Raises:
        InputError: If the file cannot be read, has no row, or has an invalid row.
    """
    is_empty = True
    errors: list[str] = []
    row_numbers: dict[str, int] = {}
    for batch in read_rows(path):
        for row in batch:
            is_empty = False
            try:
                if row.error:
                    raise RowError(row.error)
                parsed = parse(row.values)
                if id_of and (first := row_numbers.setdefault(id_of(parsed), row.number)) != row.number:
                    raise RowError(f"field 'id': Expected a new id but {id_of(parsed)!r} is in row {first}")
            except RowError as error:
                errors.append(f"row {row.number}: {error}")
            else:
                yield row.number, parsed
    if errors:
        raise_row_errors(path, errors)
    if is_empty:
        raise InputError(f"{path}: Expected at least one row but the file has none.")


def raise_row_errors(path: str | Path, errors: Sequence[str]) -> NoReturn:
    """Report the first errors and the number of the others.

    Raises:
        InputError: Always.
    """
    more = f"; and {len(errors) - _MAX_REPORTED} more" if len(errors) > _MAX_REPORTED else ""
    raise InputError(f"{path}, {'; '.join(errors[:_MAX_REPORTED])}{more}.")


def text_field(values: Mapping[str, Any], name: str, allow_integer: bool = False) -> str:
    """Return a text of a row that is not empty; `allow_integer` converts integers to text.

    Raises:
        RowError: If the field is missing, empty, or not a valid text.
    """
    if name not in values:
        raise RowError(f"field {name!r}: Expected a column of this name")
    value = values[name]
    if allow_integer and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise RowError(f"field {name!r}: Expected a text but got {value!r}")
    if not value.strip():
        raise RowError(f"field {name!r}: Expected a text that is not empty")
    if not is_valid_utf8(value):
        raise RowError(f"field {name!r}: Expected UTF-8 text")
    return value


def optional_text_field(values: Mapping[str, Any], name: str, allow_integer: bool = False) -> str | None:
    """Return a text of a row as `text_field` does, or None if the field is empty, null or missing."""
    return None if values.get(name) in (None, "") else text_field(values, name, allow_integer)


def required_number_field(values: Mapping[str, Any], name: str, minimum: float, maximum: float) -> float:
    """Return a number of a row.

    Raises:
        RowError: If the field is missing, or its value is not a number from `minimum` to `maximum`.
    """
    if name not in values:
        raise RowError(f"field {name!r}: Expected a column of this name")
    number = number_field(values, name, minimum, maximum)
    if number is None:
        raise RowError(f"field {name!r}: Expected a number from {minimum:g} to {maximum:g} but got {values[name]!r}")
    return number


def parse_json_cell(value: Any, name: str) -> Any:
    """Parse a text as JSON; return None for an empty text, and any other value unchanged.

    CSV stores lists and mappings as text, JSONL and Parquet store them as values.

    Raises:
        RowError: If the text is not JSON.

    >>> parse_json_cell("[1]", "pairs"), parse_json_cell([1], "pairs")
    ([1], [1])
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else None
    except (ValueError, RecursionError) as error:
        raise RowError(f"field {name!r}: Expected JSON ({error})") from error


def list_field(values: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of a row, see `parse_json_cell`.

    Raises:
        RowError: If the value is not a list.
    """
    value = parse_json_cell(values.get(name), name)
    if not isinstance(value, list):
        raise RowError(f"field {name!r}: Expected a list but got {value!r}")
    return value


def number_field(values: Mapping[str, Any], name: str, minimum: float, maximum: float) -> float | None:
    """Return a number of a row, or None if the field is empty, null, NaN or missing.

    Raises:
        RowError: If the value is not a number from `minimum` to `maximum`.

    >>> number_field({"confidence": "7"}, "confidence", 1, 10)
    7.0
    """
    value = values.get(name)
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "" or value != value:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or not minimum <= number <= maximum:
        expected = "a finite number" if math.isinf(minimum) else f"a number from {minimum:g} to {maximum:g}"
        raise RowError(f"field {name!r}: Expected {expected} but got {value!r}")
    return number
