"""How often the rules read the location of a finding that its writer meant.

python -m experiments.reading.locations

Somebody else wrote the sentences, with ordinary names of findings and many ways to state a location. Rules were written
from those of locations_first.jsonl; nobody has read locations_second.jsonl. A location is a side of the chest, or a
side and a zone of the lung. Findings whose names are not read are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.io.validated_rows import RowError, read_validated_rows, text_field
from radreward.text.finding_locations import allowed_location
from radreward.text.findings import FINDINGS
from radreward.text.locations import LOCATIONS
from radreward.text.report_parser import parse_report

FOLDER = Path(__file__).parent
FILES = ("first", "second")


class LocatedFinding(NamedTuple):
    """A finding of a sentence, and its location; None if the sentence states no location."""

    finding: str
    location: str | None


def parse_row(row: Mapping[str, Any]) -> tuple[str, list[LocatedFinding]]:
    """Return a sentence and the locations of its findings.

    Raises:
        RowError: If the text, a finding or a location is invalid.
    """
    entries = row.get("facts")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RowError(f"Expected a list of objects as facts but got {entries!r}.")
    for entry in entries:
        if entry.get("finding") not in FINDINGS or entry.get("location") not in (None, *LOCATIONS["lung"]):
            raise RowError(f"Expected a known finding and location but got {entry!r}.")
    return text_field(row, "text"), [LocatedFinding(entry["finding"], entry["location"]) for entry in entries]


def count_locations(rows: Sequence[tuple[str, list[LocatedFinding]]]) -> tuple[int, int]:
    """Return the number of findings that are read, and of those whose location is read, too.

    >>> meant = [LocatedFinding("effusion", "left lower"), LocatedFinding("scar", "right")]
    >>> count_locations([("Effusion at the left base, scar on the left.", meant)])
    (2, 1)
    """
    found = right = 0
    for text, meant in rows:
        facts = [fact for fact in parse_report(text).facts if fact.positive]
        for finding, location in meant:
            read = [fact.location for fact in facts if fact.finding == finding]
            found += bool(read)
            right += allowed_location(location, FINDINGS[finding].locations) in read
    return found, right


def main() -> int:
    """Print the table; return 2 if a file is invalid."""
    try:
        files = [
            [row for _, row in read_validated_rows(FOLDER / f"locations_{name}.jsonl", parse_row)] for name in FILES
        ]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    cells = []
    for name, rows in zip(FILES, files, strict=True):
        found, right = count_locations(rows)
        cells.append([name, str(len(rows)), str(found), f"{right / found:.2f}"])
    print(markdown_table(text_frame(["file", "sentences", "findings read", "right location"], cells)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
