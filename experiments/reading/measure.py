"""How the facts that the rules read in sentences agree with those that their writer meant.

python -m experiments.reading.measure

The sentences were written by others who knew neither the rules nor the generator, and each states a finding. Some
rules were written from those of first.jsonl and of third.jsonl; nobody has read the others. The words of third.jsonl
and fourth.jsonl are unusual on purpose; rare.jsonl has three sentences for each finding of rare_findings.txt.
A finding is read if rules and writer both call it present or uncertain. Details are compared where both name the
finding; several facts about it count as one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.io.validated_rows import RowError, read_validated_rows, text_field
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.report_findings import read_findings
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import parse_report

FOLDER = Path(__file__).parent
FILES = ("first", "second", "third", "fourth", "rare")
CERTAINTIES = ("present", "uncertain", "absent")
"""In order of precedence over several facts about a finding."""
SIDES = {"left": "left", "right": "right", "bilateral": "both"}
"""First words of locations, and the sides that they mean."""
DETAILS = ("certainty", "side", "severity", "change")


class Stated(NamedTuple):
    """What a sentence states about a finding; a detail is None if it is not stated."""

    certainty: str
    side: str | None = None
    severity: str | None = None
    change: str | None = None

    @property
    def positive(self) -> bool:
        """True unless the finding is denied or gone."""
        return self.certainty != "absent"


Facts = dict[str, Stated]
"""Findings of a sentence by key."""


def merged(facts: Iterable[tuple[str, Stated]]) -> Facts:
    """Return one fact per finding; a finding on the left and on the right is on both sides.

    >>> merged([("effusion", Stated("present", "left")), ("effusion", Stated("uncertain", "right", "mild"))])
    {'effusion': Stated(certainty='present', side='both', severity='mild', change=None)}
    """
    found: Facts = {}
    for key, fact in facts:
        if (other := found.get(key)) is None:
            found[key] = fact
            continue
        certainty = min(other.certainty, fact.certainty, key=CERTAINTIES.index)
        sides = {side for side in (other.side, fact.side) if side}
        side = next(iter(sides), None) if len(sides) < 2 else "both"
        found[key] = Stated(certainty, side, other.severity or fact.severity, other.change or fact.change)
    return found


def read_facts(texts: Sequence[str], with_names: bool) -> list[Facts]:
    """Return what the rules read in each text, and with names also what a statement in other words is taken for."""
    # In one call, so that statements are encoded together.
    named = read_findings(texts, embedded_classifier()) if with_names else {}
    read = []
    for text in texts:
        facts = list(parse_report(text).facts)
        if with_names:
            facts += chain.from_iterable(named[text].recognized.values())
        read.append(
            merged(
                (
                    fact.finding,
                    Stated(fact.polarity, SIDES.get((fact.location or "").split(" ")[0]), fact.severity, fact.change),
                )
                for fact in facts
            )
        )
    return read


def parse_row(row: Mapping[str, Any]) -> tuple[str, Facts]:
    """Return a sentence and the facts that its writer meant.

    Raises:
        RowError: If the text, a finding or a detail is invalid.
    """
    entries = row.get("facts")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RowError(f"Expected a list of objects as facts but got {entries!r}.")
    for entry in entries:
        if entry.get("finding") not in FINDINGS or entry.get("certainty") not in CERTAINTIES:
            raise RowError(f"Expected a known finding and certainty but got {entry!r}.")
    facts = ((entry["finding"], Stated(*(entry.get(name) for name in DETAILS))) for entry in entries)
    return text_field(row, "text"), merged(facts)


def has_sides(key: str) -> bool:
    """Return True if a finding can be on a side; the place of a device is that of its tip."""
    return not SIDES.keys().isdisjoint(FINDINGS[key].locations)


def count_agreement(meant: Facts, read: Facts) -> Counter[str]:
    """Count findings that are read, missed and added, and equal details, in one sentence."""
    counts: Counter[str] = Counter(sentences=1)
    for key in meant.keys() | read.keys():
        both = [facts.get(key, Stated("absent")) for facts in (meant, read)]
        counts["read"] += all(fact.positive for fact in both)
        counts["missed"] += both[0].positive and not both[1].positive
        counts["added"] += both[1].positive and not both[0].positive
        if key not in meant or key not in read:
            continue
        for name in DETAILS:
            if name == "side" and not has_sides(key):
                continue
            if name in ("side", "severity") and not all(fact.positive for fact in both):
                continue
            counts[name] += 1
            counts[f"equal {name}"] += getattr(meant[key], name) == getattr(read[key], name)
    return counts


def measures(rows: Sequence[tuple[str, Facts]], with_names: bool) -> list[str]:
    """Return recall, precision and F1 of findings, and the share of equal values per detail."""
    facts = zip((meant for _, meant in rows), read_facts([text for text, _ in rows], with_names), strict=True)
    counts = sum((count_agreement(meant, read) for meant, read in facts), Counter[str]())
    read, missed, added = counts["read"], counts["missed"], counts["added"]
    shares = (read / (read + missed), read / (read + added), 2 * read / (2 * read + missed + added))
    details = (counts[f"equal {name}"] / counts[name] for name in DETAILS)
    return [str(counts["sentences"]), *(f"{value:.2f}" for value in (*shares, *details))]


def main() -> int:
    """Print the table; return 2 if a file is invalid."""
    try:
        files = [(name, [row for _, row in read_validated_rows(FOLDER / f"{name}.jsonl", parse_row)]) for name in FILES]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    columns = ["file", "read by", "sentences", "recall", "precision", "F1", *DETAILS]
    cells = [
        [name, "rules and names" if with_names else "rules", *measures(rows, with_names)]
        for name, rows in files
        for with_names in (False, True)
    ]
    print(markdown_table(text_frame(columns, cells)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
