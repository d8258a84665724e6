"""What is written about: reports of a file, or pairs with or without known errors."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.synthesis.report_reader import report_rows
from radreward.types import ReportGroup


def read_references(
    path: Path, text_column: str | None = None, limit: int | None = None
) -> tuple[list[ReportGroup], int]:
    """The different reports of a file as groups without candidates, and how many rows had none or one seen before.

    Args:
        path: CSV, JSONL or Parquet with `report`, `reference`, `text`, or `findings` and `impression`; a row that has
            an `id` gives its name, others are named by their numbers.
        column: Where the text stands instead.
        limit: The most that are read.

    Raises:
        InputError: If the file cannot be read, has no report, or two with the same id; names file, row and field.
    """
    found: dict[str, ReportGroup] = {}
    seen: set[str] = set()
    left_out = 0
    for row, text, where in report_rows(path, text_column):
        if len(found) == limit:
            break
        if not text or text in seen:
            left_out += 1
            continue
        name = str(row.values.get("id") or f"report-{row.number}")
        if name in found:
            raise InputError(f"{where}: Expected an id of its own but {name!r} was there before.")
        seen.add(text)
        found[name] = ReportGroup(name, text, ())
    if not found:
        raise InputError(f"{path}: Expected at least one report but got none.")
    return list(found.values()), left_out


def read_pair_groups(path: Path, limit: int | None = None) -> list[ReportGroup]:
    """Groups of references and candidates, as `read_groups` reads them.

    Raises:
        InputError: If a row cannot be used, or there is none.
    """
    groups = list(islice(read_groups(path), limit))
    if not groups:
        raise InputError(f"{path}: Expected at least one pair of reports but got none.")
    return groups
