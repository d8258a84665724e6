"""Review sheets for radiologists, and their agreement with the generated counts."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.atomic import atomic_file
from radreward.io.tables import AtomicTableWriter, csv_cell, read_rows
from radreward.prompts.parsing import MAX_COUNT

WRITTEN_PREFIX, CHECKED_PREFIX = "written: ", "checked: "
"""Prefixes of the columns of generated counts and of the reviewer's counts."""


class ReviewerAgreement(NamedTuple):
    """Agreement of a reviewer with the generated counts of one criterion."""

    tag: str
    num_checked: int
    num_equal: int

    @property
    def accuracy(self) -> float | None:
        """Fraction of equal counts, or None if none was checked."""
        return self.num_equal / self.num_checked if self.num_checked else None


def write_review_sheet(
    path: Path, criteria: Criteria, rows: Sequence[Mapping[str, Any]], num_samples: int, seed: int = 0
) -> None:
    """Write random samples as CSV: both reports, the generated errors, and empty cells for the reviewer's counts.

    Args:
        path: The file.
        criteria: Criteria of the error counts.
        rows: Samples with id, reference, candidate, errors, stated and explanation.
        num_samples: Number of samples; all if there are fewer.
        seed: Seed of the choice.

    Raises:
        ValueError: If `num_samples` is negative.
    """
    if num_samples < 0:
        raise ValueError(f"Expected `num_samples` to be >= 0 but got {num_samples}.")
    indices = sorted(Random(seed).sample(range(len(rows)), min(num_samples, len(rows))))
    counts = [f"{prefix}{tag}" for prefix in (WRITTEN_PREFIX, CHECKED_PREFIX) for tag in criteria.tags]
    header = ["id", "reference", "candidate", "stated errors", "explanation", *counts, "remarks"]
    with AtomicTableWriter(path, pa.schema({name: pa.string() for name in header})) as writer:
        writer.write([_sheet_row(rows[index], criteria) for index in indices])


def _sheet_row(sample: Mapping[str, Any], criteria: Criteria) -> dict[str, Any]:
    texts = {name: str(sample[name]) for name in ("id", "reference", "candidate", "explanation")}
    texts["stated errors"] = "\n".join(
        f"{error['tag']}: {error['reference'] or '(nothing)'} -> {error['candidate'] or '(nothing)'}. "
        f"{error['description']}"
        for error in sample["stated"]
    )
    counts = {f"{WRITTEN_PREFIX}{tag}": sample["errors"][tag] for tag in criteria.tags}
    return texts | counts


def read_review_sheet(path: Path) -> list[ReviewerAgreement]:
    """Return the agreement per criterion from a completed sheet, in the order of the columns.

    Empty cells count as not checked. Counts may be written as 1 or 1.0.

    Raises:
        InputError: If the file is not a review sheet, all cells are empty, or a cell is not a count. The message names
            the row and the column.
    """
    rows = [row for batch in read_rows(path) for row in batch]
    if invalid := [row for row in rows if row.error]:
        raise InputError(f"{path}, row {invalid[0].number}: {invalid[0].error}.")
    columns = [str(name) for name in (rows[0].values if rows else ())]
    tags = [name.removeprefix(CHECKED_PREFIX) for name in columns if name.startswith(CHECKED_PREFIX)]
    if not tags or any(f"{WRITTEN_PREFIX}{tag}" not in columns for tag in tags):
        raise InputError(
            f"{path}: Expected a sheet with columns {WRITTEN_PREFIX!r} and {CHECKED_PREFIX!r} for every criterion."
        )
    agreements = []
    for tag in tags:
        names = (f"{WRITTEN_PREFIX}{tag}", f"{CHECKED_PREFIX}{tag}")
        pairs = [tuple(_parse_count(path, row.number, name, row.values[name]) for name in names) for row in rows]
        checked = [pair for pair in pairs if pair[1] is not None]
        agreements.append(ReviewerAgreement(tag, len(checked), sum(written == count for written, count in checked)))
    if not any(agreement.num_checked for agreement in agreements):
        raise InputError(f"{path}: Expected counts in the columns {CHECKED_PREFIX!r} but all are empty.")
    return agreements


def _parse_count(path: Path, number: int, name: str, value: Any) -> int | None:
    text = str(value).strip()
    if not text and name.startswith(CHECKED_PREFIX):
        return None
    try:
        count = float(text)
    except ValueError:
        count = -1.0
    if not (0 <= count <= MAX_COUNT and count == int(count)):
        raise InputError(f"{path}, row {number}, column {name!r}: Expected a count but got {value!r}.")
    return int(count)


def write_agreements(path: Path, agreements: Sequence[ReviewerAgreement]) -> None:
    """Write the agreement per criterion as CSV."""
    with atomic_file(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["criterion", "checked", "equal", "accuracy"])
        writer.writerows(
            [csv_cell(entry.tag), entry.num_checked, entry.num_equal, entry.accuracy] for entry in agreements
        )
