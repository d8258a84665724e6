"""Files of which every row must be usable: what is wrong with each is told, not with the first alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from radreward.data.records import RowError
from radreward.errors import InputError
from radreward.io.tables import read_rows

T = TypeVar("T")
_MAX_REPORTED = 5


def read_validated_rows(path: str | Path, parse: Callable[[Mapping[str, Any]], T]) -> list[tuple[int, T]]:
    """Row number and what `make` makes of each row's values.

    Args:
        path: JSONL, CSV or Parquet.
        make: Raises `RowError` for values that cannot be used.

    Raises:
        InputError: If the file cannot be read, has no row, or has rows that cannot be used.
    """
    found: list[tuple[int, T]] = []
    problems: list[str] = []
    for batch in read_rows(path):
        for row in batch:
            try:
                if row.error:
                    raise RowError(row.error)
                found.append((row.number, parse(row.values)))
            except RowError as error:
                problems.append(f"row {row.number}: {error}")
    if problems:
        raise_row_errors(path, problems)
    if not found:
        raise InputError(f"{path}: Expected at least one row but there is none.")
    return found


def raise_row_errors(path: str | Path, errors: Sequence[str]) -> NoReturn:
    """Tell the first problems, and how many more there are.

    Raises:
        InputError: Always.
    """
    more = f"; and {len(errors) - _MAX_REPORTED} more" if len(errors) > _MAX_REPORTED else ""
    raise InputError(f"{path}, {'; '.join(errors[:_MAX_REPORTED])}{more}.")


def number_field(values: Mapping[str, Any], name: str, minimum: float, maximum: float) -> float | None:
    """A number of a row, or None where the field is empty, null, NaN or not there.

    Raises:
        RowError: If it is something else, or not from `least` to `most`.

    >>> number_field({"confidence": "7"}, "confidence", 1, 10)
    7.0
    """
    value = values.get(name)
    if value is None or value == "" or value != value:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(value, bool) or not minimum <= number <= maximum or number in (float("inf"), float("-inf")):
        raise RowError(f"field {name!r}: expected a number from {minimum:g} to {maximum:g} but got {value!r}")
    return number
