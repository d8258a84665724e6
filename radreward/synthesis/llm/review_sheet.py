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
from radreward.io.tables import TableWriter, read_rows

WRITTEN, CHECKED = "written: ", "checked: "
MOST = 1000
"""The highest count that a cell may hold."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How cells begin that a spreadsheet would compute."""


class Accuracy(NamedTuple):
    """How often a person counts as the writer did."""

    tag: str
    checked: int
    equal: int

    @property
    def share(self) -> float | None:
        """Equal / checked; None where nothing was checked."""
        return self.equal / self.checked if self.checked else None


def write_sheet(path: Path, criteria: Criteria, rows: Sequence[Mapping[str, Any]], count: int, seed: int = 0) -> None:
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
    if count < 0:
        raise ValueError(f"Expected `count` to be >= 0 but got {count}.")
    chosen = sorted(Random(seed).sample(range(len(rows)), min(count, len(rows))))
    names = [f"{WRITTEN}{tag}" for tag in criteria.tags] + [f"{CHECKED}{tag}" for tag in criteria.tags]
    header = ["id", "reference", "candidate", "stated errors", "words", *names, "remarks"]
    with TableWriter(path, pa.schema({name: pa.string() for name in header})) as writer:
        writer.write(
            [
                {
                    **{name: _plain(str(rows[index][name])) for name in ("id", "reference", "candidate", "words")},
                    "stated errors": _plain(_told(rows[index]["stated"])),
                    **{f"{WRITTEN}{tag}": rows[index]["errors"][tag] for tag in criteria.tags},
                }
                for index in chosen
            ]
        )


def _told(stated: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{error['tag']}: {error['reference'] or '(nothing)'} -> {error['candidate'] or '(nothing)'}. {error['what']}"
        for error in stated
    )


def _plain(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_sheet(path: Path) -> list[Accuracy]:
    """Accuracies by criterion, in the order of the columns: counts that a person and the writer have alike.

    A cell that was left empty is not checked. A number may be written as 1 or 1.0.

    Raises:
        InputError: If the file is no such sheet, nothing in it was checked, or a cell is no count; names row and
            column.
    """
    rows = [row for batch in read_rows(path) for row in batch]
    if broken := [row for row in rows if row.problem]:
        raise InputError(f"{path}, row {broken[0].number}: {broken[0].problem}.")
    tags = [str(name).removeprefix(CHECKED) for name in (rows[0].values if rows else ()) if name.startswith(CHECKED)]
    if not tags or any(f"{WRITTEN}{tag}" not in rows[0].values for tag in tags):
        raise InputError(f"{path}: Expected a sheet with columns {WRITTEN!r} and {CHECKED!r} for every criterion.")
    found = []
    for tag in tags:
        pairs = [
            tuple(_count(path, row.number, f"{kind}{tag}", row.values[f"{kind}{tag}"]) for kind in (WRITTEN, CHECKED))
            for row in rows
        ]
        given = [(written, checked) for written, checked in pairs if checked is not None]
        found.append(Accuracy(tag, len(given), sum(written == checked for written, checked in given)))
    if not any(entry.checked for entry in found):
        raise InputError(f"{path}: Expected counts in the columns {CHECKED!r} but all are empty.")
    return found


def _count(path: Path, number: int, name: str, value: Any) -> int | None:
    text = str(value).strip()
    if not text and name.startswith(CHECKED):
        return None
    try:
        count = float(text)
    except ValueError:
        count = -1.0
    if not (0 <= count <= MOST and count == int(count)):
        raise InputError(f"{path}, row {number}, column {name!r}: Expected a count but got {value!r}.")
    return int(count)


def write_accuracies(path: Path, accuracies: Sequence[Accuracy]) -> None:
    """Write accuracies as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["criterion", "checked", "equal", "accuracy"])
        writer.writerows([entry.tag, entry.checked, entry.equal, entry.share] for entry in accuracies)
