"""Input of generation jobs: reports of a file, or pairs with or without known errors."""

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
    """Read the distinct reports of a file.

    Args:
        path: CSV, JSONL or Parquet file with `report`, `reference`, `text`, or `findings` and `impression`, and
            optionally `id`; rows without an id are named by their number.
        text_column: Column of the text instead.
        limit: Maximum number of reports.

    Returns:
        Groups without candidates, and the number of skipped rows, which are empty or repeat a report.

    Raises:
        InputError: If the file cannot be read, has no report, or two with the same id; names file, row and field.
    """
    groups: dict[str, ReportGroup] = {}
    texts: set[str] = set()
    num_skipped = 0
    for row, text, source in report_rows(path, text_column):
        if len(groups) == limit:
            break
        if not text or text in texts:
            num_skipped += 1
            continue
        name = str(row.values.get("id") or f"report-{row.number}")
        if name in groups:
            raise InputError(f"{source}: Expected a unique id but {name!r} is repeated.")
        texts.add(text)
        groups[name] = ReportGroup(name, text, ())
    if not groups:
        raise InputError(f"{path}: Expected at least one report but got none.")
    return list(groups.values()), num_skipped


def read_pair_groups(path: Path, limit: int | None = None) -> list[ReportGroup]:
    """Read groups of references and candidates, see `read_groups`.

    Raises:
        InputError: If a row cannot be used, or the file is empty.
    """
    groups = list(islice(read_groups(path), limit))
    if not groups:
        raise InputError(f"{path}: Expected at least one pair of reports but got none.")
    return groups
