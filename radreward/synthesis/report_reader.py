"""Real reports from a file, refused before anything is made of them if one cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.tables import TableRow, is_valid_utf8, read_rows
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import BODY_SECTIONS, PartiallyParsedSentence, parse_report

TEXT_COLUMNS = ("report", "reference", "text")
SECTION_COLUMNS = ("findings", "impression")


class ReportTexts(NamedTuple):
    """What a file holds."""

    texts: list[str]
    """Reports with white space made single, in the order of the rows."""
    empty_rows: list[int]
    """Numbers of the rows without any text."""


def read_reports(path: Path, text_column: str | None = None) -> ReportTexts:
    """Real reports of a CSV, JSONL or Parquet file.

    Args:
        path: The file.
        column: Where the text stands; otherwise `report`, `reference`, `text`, or `findings` and `impression`.

    Raises:
        InputError: If the file cannot be read, has no column of text, holds a report in which no error can be made,
            or fewer than two reports; names file, row and field.
    """
    texts: list[str] = []
    empty: list[int] = []
    for row, text, where in report_rows(path, text_column):
        if not text:
            empty.append(row.number)
            continue
        try:
            parse_editable_report(text)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        texts.append(text)
    if len(texts) < 2:
        raise InputError(f"{path}: Expected at least two reports but got {len(texts)}.")
    return ReportTexts(texts, empty)


def report_rows(path: Path, text_column: str | None = None) -> Iterator[tuple[TableRow, str, str]]:
    """Rows of reports with their texts, white space made single, and where these stand, for messages.

    Raises:
        InputError: If the file cannot be read or has no column of text; names file, row and field.
    """
    for rows in read_rows(path):
        for row in rows:
            if row.error:
                raise InputError(f"{path}, row {row.number}: {row.error}.")
            names = _columns(path, row.values, text_column)
            where = f"{path}, row {row.number}, field {' and '.join(map(repr, names))}"
            text = " ".join(" ".join(_text(path, row.number, name, row.values[name]) for name in names).split())
            yield row, text, where


def parse_editable_report(text: str) -> AnnotatedReport:
    """A report, annotated, in which errors can be made.

    Raises:
        ValueError: If it is too long, has neither findings nor impression, or takes none of the errors.

    >>> editable("Comparison: None.")
    Traceback (most recent call last):
    ValueError: Expected a report with findings or an impression but it has neither.
    """
    report = parse_report(text)
    body = [entry for entry in report.sentences if entry.section in BODY_SECTIONS]
    if all(isinstance(entry, PartiallyParsedSentence) and entry.is_heading for entry in body):
        raise ValueError("Expected a report with findings or an impression but it has neither.")
    if all(operator(report, Random(0)) is None for operator in ERROR_OPERATORS.values()):
        raise ValueError("Expected a report in sentences but there is no place in it for another one.")
    return report


def _columns(path: Path, values: Mapping[str, Any], text_column: str | None) -> list[str]:
    names = [text_column] if text_column else [name for name in TEXT_COLUMNS if name in values][:1]
    names = names or [name for name in SECTION_COLUMNS if name in values]
    if not names or any(name not in values for name in names):
        expected = text_column or f"{', '.join(TEXT_COLUMNS)}, or {' and '.join(SECTION_COLUMNS)}"
        raise InputError(f"{path}: Expected a column {expected} but got {', '.join(map(str, values))}.")
    return names


def _text(path: Path, number: int, name: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{path}, row {number}, field {name!r}: Expected text but got {value!r}.")
    if value and not is_valid_utf8(value):
        raise InputError(f"{path}, row {number}, field {name!r}: Expected UTF-8 text.")
    return value or ""
