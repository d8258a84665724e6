"""A sheet on which a person checks samples, and what it says of the writer (ER²Score, section 3.1)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.tables import AtomicTableWriter, read_rows

WRITTEN_PREFIX, CHECKED_PREFIX = "written: ", "checked: "
MAX_COUNT = 1000
"""The highest count that a cell may hold."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""How cells begin that a spreadsheet would compute."""


class ReviewerAgreement(NamedTuple):
    """How often a person counts as the writer did."""

    tag: str
    num_checked: int
    num_equal: int

    @property
    def accuracy(self) -> float | None:
        """Equal / checked; None where nothing was checked."""
        return self.num_equal / self.num_checked if self.num_checked else None


def write_review_sheet(
    path: Path, criteria: Criteria, rows: Sequence[Mapping[str, Any]], num_samples: int, seed: int = 0
) -> None:
    """Write random samples as CSV: both reports, what the writer states, and empty cells for a person's counts.

    Args:
        path: The file.
        criteria: By what errors are counted.
        rows: Samples with id, reference, candidate, errors, stated and words.
        count: How many are drawn.
        seed: Decides which.

    Raises:
        ValueError: If `count` is negative.
    """
    if num_samples < 0:
        raise ValueError(f"Expected `count` to be >= 0 but got {num_samples}.")
    chosen = sorted(Random(seed).sample(range(len(rows)), min(num_samples, len(rows))))
    names = [f"{WRITTEN_PREFIX}{tag}" for tag in criteria.tags] + [f"{CHECKED_PREFIX}{tag}" for tag in criteria.tags]
    header = ["id", "reference", "candidate", "stated errors", "words", *names, "remarks"]
    with AtomicTableWriter(path, pa.schema({name: pa.string() for name in header})) as writer:
        writer.write(
            [
                {
                    **{
                        name: _escape_formula(str(rows[index][name]))
                        for name in ("id", "reference", "candidate", "words")
                    },
                    "stated errors": _escape_formula(_format_errors(rows[index]["stated"])),
                    **{f"{WRITTEN_PREFIX}{tag}": rows[index]["errors"][tag] for tag in criteria.tags},
                }
                for index in chosen
            ]
        )


def _format_errors(stated: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{error['tag']}: {error['reference'] or '(nothing)'} -> {error['candidate'] or '(nothing)'}. {error['what']}"
        for error in stated
    )


def _escape_formula(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def read_review_sheet(path: Path) -> list[ReviewerAgreement]:
    """Accuracies by criterion, in the order of the columns: counts that a person and the writer have alike.

    A cell that was left empty is not checked. A number may be written as 1 or 1.0.

    Raises:
        InputError: If the file is no such sheet, nothing in it was checked, or a cell is no count; names row and
            column.
    """
    rows = [row for batch in read_rows(path) for row in batch]
    if broken := [row for row in rows if row.error]:
        raise InputError(f"{path}, row {broken[0].number}: {broken[0].error}.")
    tags = [
        str(name).removeprefix(CHECKED_PREFIX)
        for name in (rows[0].values if rows else ())
        if name.startswith(CHECKED_PREFIX)
    ]
    if not tags or any(f"{WRITTEN_PREFIX}{tag}" not in rows[0].values for tag in tags):
        raise InputError(
            f"{path}: Expected a sheet with columns {WRITTEN_PREFIX!r} and {CHECKED_PREFIX!r} for every criterion."
        )
    found = []
    for tag in tags:
        pairs = [
            tuple(
                _parse_count(path, row.number, f"{kind}{tag}", row.values[f"{kind}{tag}"])
                for kind in (WRITTEN_PREFIX, CHECKED_PREFIX)
            )
            for row in rows
        ]
        given = [(written, checked) for written, checked in pairs if checked is not None]
        found.append(ReviewerAgreement(tag, len(given), sum(written == checked for written, checked in given)))
    if not any(entry.num_checked for entry in found):
        raise InputError(f"{path}: Expected counts in the columns {CHECKED_PREFIX!r} but all are empty.")
    return found


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
    """Write accuracies as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["criterion", "checked", "equal", "accuracy"])
        writer.writerows([entry.tag, entry.num_checked, entry.num_equal, entry.accuracy] for entry in agreements)
