"""Tests of the review sheet: sampling, filling in and reading."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.synthesis.llm.review_sheet import read_review_sheet, write_agreements, write_review_sheet

TAGS = RadCliQCriteria().tags


def sample(number: int, text: str = 'Clear, "quoted"\nlungs.') -> dict[str, Any]:
    error = {"tag": "omission", "reference": "No edema.", "candidate": None, "description": "left out"}
    counts = dict.fromkeys(TAGS, 0) | {"omission": number % 3}
    return {
        "id": f"r{number}",
        "reference": text,
        "candidate": text,
        "errors": counts,
        "stated": [error],
        "explanation": "",
    }


def fill_in(path: Path, **cells: list[str]) -> None:
    """Fill in columns `checked: ...` of a sheet."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for tag, values in cells.items():
        for row, value in zip(rows, values, strict=True):
            row[f"checked: {tag}"] = value
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_write_review_sheet_samples_by_seed(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    samples = []
    for seed in (0, 0, 1):
        write_review_sheet(path, RadCliQCriteria(), [sample(number) for number in range(200)], 50, seed)
        with path.open(newline="") as file:
            samples.append([row["id"] for row in csv.DictReader(file)])
    assert len(set(samples[0])) == 50
    assert samples[0] == samples[1] != samples[2]


def test_read_review_sheet_counts_equal_cells(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_review_sheet(path, RadCliQCriteria(), [sample(number) for number in range(4)], 50)
    # Counts in the records: 0, 1, 2, 0.
    fill_in(path, omission=["0", "1.0", " 1 ", ""], incorrect_location=["0", "0", "0", "0"])
    agreements = {entry.tag: (entry.num_checked, entry.num_equal, entry.accuracy) for entry in read_review_sheet(path)}
    assert agreements["omission"] == (3, 2, 2 / 3)
    assert agreements["incorrect_location"] == (4, 4, 1.0)
    assert agreements["false_prediction"] == (0, 0, None)
    assert list(agreements) == list(TAGS)
    write_agreements(tmp_path / "table.csv", read_review_sheet(path))
    assert (tmp_path / "table.csv").read_text().splitlines()[2] == "omission,3,2,0.6666666666666666"


@pytest.mark.parametrize("start", ["=1+1", "+1 cm", "-1 cm", "@x"])
def test_write_review_sheet_escapes_formulas(tmp_path: Path, start: str) -> None:
    path = tmp_path / "sheet.csv"
    write_review_sheet(path, RadCliQCriteria(), [sample(0, start)], 50)
    with path.open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["reference"], row["candidate"]) == (f"'{start}", f"'{start}")


@pytest.mark.parametrize("value", ["one", "-1", "0.5", "inf", "nan", "1e9"])
def test_read_review_sheet_invalid_count_raises(tmp_path: Path, value: str) -> None:
    path = tmp_path / "sheet.csv"
    write_review_sheet(path, RadCliQCriteria(), [sample(number) for number in range(2)], 50)
    fill_in(path, omission=["1", value])
    with pytest.raises(InputError, match="row 2, column 'checked: omission': Expected a count"):
        read_review_sheet(path)


def test_read_review_sheet_without_columns_raises(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="Expected a sheet"):
        read_review_sheet(path)
    path.write_text("")
    with pytest.raises(InputError, match="Expected a sheet"):
        read_review_sheet(path)
    write_review_sheet(path, RadCliQCriteria(), [sample(0)], 50)
    with pytest.raises(InputError, match="all are empty"):
        read_review_sheet(path)
    with pytest.raises(InputError, match="does not exist"):
        read_review_sheet(tmp_path / "gone.csv")
    with pytest.raises(ValueError, match="`num_samples` to be >= 0"):
        write_review_sheet(path, RadCliQCriteria(), [], -1)
