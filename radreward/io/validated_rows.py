"""Files of which every row must be usable: what is wrong with each is told, not with the first alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from radreward.data.records import RowError
from radreward.errors import InputError
from radreward.io.tables import read_rows

Entry = TypeVar("Entry")
_SHOWN = 5


def read_checked(path: str | Path, make: Callable[[Mapping[str, Any]], Entry]) -> list[tuple[int, Entry]]:
    """Row number and what `make` makes of each row's values.

    Args:
        path: JSONL, CSV or Parquet.
        make: Raises `RowError` for values that cannot be used.

    Raises:
        InputError: If the file cannot be read, has no row, or has rows that cannot be used.
    """
    found: list[tuple[int, Entry]] = []
    problems: list[str] = []
    for batch in read_rows(path):
        for row in batch:
            try:
                if row.problem:
                    raise RowError(row.problem)
                found.append((row.number, make(row.values)))
            except RowError as error:
                problems.append(f"row {row.number}: {error}")
    if problems:
        refuse(path, problems)
    if not found:
        raise InputError(f"{path}: Expected at least one row but there is none.")
    return found


def refuse(path: str | Path, problems: Sequence[str]) -> NoReturn:
    """Tell the first problems, and how many more there are.

    Raises:
        InputError: Always.
    """
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    raise InputError(f"{path}, {'; '.join(problems[:_SHOWN])}{more}.")


def number_field(values: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
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
    if isinstance(value, bool) or not least <= number <= most or number in (float("inf"), float("-inf")):
        raise RowError(f"field {name!r}: expected a number from {least:g} to {most:g} but got {value!r}")
    return number
