"""Readers of real reports or pairs, which check a file before anything is generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.io.tables import TableRow, is_valid_utf8, read_rows
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import BODY_SECTIONS, is_heading, parse_report
from radreward.types import ReportGroup

_TEXT_COLUMNS = ("report", "reference", "text")
_SECTION_COLUMNS = ("findings", "impression")


class ReportTexts(NamedTuple):
    """Reports of a file."""

    texts: list[str]
    """Reports with single spaces, in the order of the rows."""
    empty_rows: list[int]
    """Numbers of the rows without text."""
    generated: list[str] | None = None
    """One output of a report generator per report, if known."""


def read_reports(path: Path, text_column: str | None = None) -> ReportTexts:
    """Read real reports in any format of `read_rows`.

    Args:
        path: The file.
        text_column: Column of the text; by default `report`, `reference`, `text`, or `findings` and `impression`.

    Raises:
        InputError: If the file cannot be read, has no text column, has a report in which no error can be made, or has
            fewer than two reports. The message names the file, the row and the field.
    """
    texts: list[str] = []
    empty_rows: list[int] = []
    for row, text, source in report_rows(path, text_column):
        if not text:
            empty_rows.append(row.number)
            continue
        try:
            parse_editable_report(text)
        except ValueError as error:
            raise InputError(f"{source}: {error}") from error
        texts.append(text)
    if len(texts) < 2:
        raise InputError(f"{path}: Expected at least two reports but got {len(texts)}.")
    return ReportTexts(texts, empty_rows)


def read_references(
    path: Path, text_column: str | None = None, limit: int | None = None
) -> tuple[list[ReportGroup], int]:
    """Read the distinct reports of a file.

    Args:
        path: File in any format of `read_rows`, optionally with a column `id`; other rows get their number as id.
        text_column: Column of the text; by default `report`, `reference`, `text`, or `findings` and `impression`.
        limit: Maximum number of reports.

    Returns:
        Groups without candidates, and the number of skipped rows, which are empty or repeat a report.

    Raises:
        InputError: If the file cannot be read, has no report, or repeats an id. The message names the file, the row and
            the field.
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


def report_rows(path: Path, text_column: str | None = None) -> Iterator[tuple[TableRow, str, str]]:
    """Yield each row of a file with its report in single spaces and its source for error messages.

    Raises:
        InputError: If the file cannot be read or has no text column. The message names the file, the row and the field.
    """
    for rows in read_rows(path):
        for row in rows:
            if row.error:
                raise InputError(f"{path}, row {row.number}: {row.error}.")
            names = _columns(path, row.values, text_column)
            source = f"{path}, row {row.number}, field {' and '.join(map(repr, names))}"
            text = " ".join(" ".join(_text(path, row.number, name, row.values[name]) for name in names).split())
            yield row, text, source


def parse_editable_report(text: str) -> AnnotatedReport:
    """Parse a report and check that errors can be made in it.

    Raises:
        ValueError: If it is too long, has neither findings nor impression, or allows no error.

    >>> parse_editable_report("Comparison: None.")
    Traceback (most recent call last):
    ValueError: Expected a report with findings or an impression but it has neither.
    """
    report = parse_report(text)
    if all(is_heading(sentence) for sentence in report.sentences if sentence.section in BODY_SECTIONS):
        raise ValueError("Expected a report with findings or an impression but it has neither.")
    if all(operator(report, Random(0)) is None for operator in ERROR_OPERATORS.values()):
        raise ValueError("Expected a report in sentences but no sentence can be edited or added.")
    return report


def _columns(path: Path, values: Mapping[str, Any], text_column: str | None) -> list[str]:
    names = [text_column] if text_column else [name for name in _TEXT_COLUMNS if name in values][:1]
    names = names or [name for name in _SECTION_COLUMNS if name in values]
    if not names or any(name not in values for name in names):
        expected = text_column or f"{', '.join(_TEXT_COLUMNS)}, or {' and '.join(_SECTION_COLUMNS)}"
        raise InputError(f"{path}: Expected a column {expected} but got {', '.join(map(str, values))}.")
    return names


def _text(path: Path, number: int, name: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{path}, row {number}, field {name!r}: Expected text but got {value!r}.")
    if value and not is_valid_utf8(value):
        raise InputError(f"{path}, row {number}, field {name!r}: Expected UTF-8 text.")
    return value or ""
