"""How often the rules read a finding as present that a text denies or only mentions, or deny one that it states.

python -m experiments.reading.assertions

The texts were written by others, as radiologists, emergency doctors and language models write reports. Rules were
written from those of assertions_first.jsonl, which seek out misreadings; those of assertions_second.jsonl are ordinary
ones, and nobody has read them. Each text has the findings that it states (present, uncertain or absent) and those that
it only mentions: asked for, planned, or seen on a prior examination alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.io.validated_rows import RowError, read_validated_rows, text_field
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, is_related
from radreward.text.normalization import normalize_report
from radreward.text.report_reading import read_report

FOLDER = Path(__file__).parent
FILES = ("first", "second")
Assertion = Literal["present", "uncertain", "absent", "unstated"]
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)
MISTAKES = (
    "stated, read as absent",
    "stated, not read",
    "absent, read as stated",
    "unstated, read as stated",
    "uncertain, read as present",
)
"""In the order of the table's columns."""


class LabelledText(NamedTuple):
    """A text and what it asserts of the findings that it names."""

    text: str
    assertions: Mapping[str, Assertion]


def parse_row(row: Mapping[str, Any]) -> LabelledText:
    """Return a text with the assertion of each finding.

    Raises:
        RowError: If the text, a finding or an assertion is invalid.
    """
    assertions = row.get("assertions")
    if not isinstance(assertions, dict) or not assertions:
        raise RowError(f"Expected an object of findings and assertions but got {assertions!r}.")
    for finding, assertion in assertions.items():
        if finding not in FINDINGS or assertion not in ASSERTIONS:
            raise RowError(f"Expected a known finding and assertion but got {finding!r}: {assertion!r}.")
    return LabelledText(text_field(row, "text"), assertions)


def mistake(assertion: Assertion, read: Iterable[Fact]) -> str | None:
    """Return what is wrong in the reading of a finding, None if nothing is.

    Args:
        assertion: Assertion of the text.
        read: Facts about the finding that the rules read.

    >>> mistake("present", [Fact("edema", "absent")]), mistake("present", [Fact("edema")])
    ('stated, read as absent', None)
    >>> mistake("uncertain", [Fact("edema")]), mistake("absent", [])
    ('uncertain, read as present', None)
    """
    polarities = {fact.polarity for fact in read}
    is_stated = bool(polarities - {"absent"})
    if assertion in ("absent", "unstated"):
        return f"{assertion}, read as stated" if is_stated else None
    if not is_stated:
        return "stated, read as absent" if polarities else "stated, not read"
    return "uncertain, read as present" if assertion == "uncertain" and "uncertain" not in polarities else None


def mistakes(entry: LabelledText) -> list[str]:
    """Return the mistakes in the reading of a text; a kind of a finding counts as the finding."""
    facts = read_report(normalize_report(entry.text)).facts
    found = (
        mistake(assertion, [fact for fact in facts if fact.finding == finding])
        if assertion in ("absent", "unstated")
        else mistake(assertion, [fact for fact in facts if is_related(fact.finding, finding)])
        for finding, assertion in entry.assertions.items()
    )
    return [entry for entry in found if entry]


def measures(texts: Sequence[LabelledText]) -> list[str]:
    """Return a file's cells: texts, findings, mistakes by kind, and texts with one that is not only unread."""
    by_text = [mistakes(entry) for entry in texts]
    counts = Counter(kind for kinds in by_text for kind in kinds)
    wrong = sum(any(kind != "stated, not read" for kind in kinds) for kinds in by_text)
    findings = sum(len(entry.assertions) for entry in texts)
    return [str(value) for value in (len(texts), findings, *(counts[kind] for kind in MISTAKES), wrong)]


def main() -> int:
    """Print the table; return 2 if a file is invalid."""
    try:
        files = {
            name: [row for _, row in read_validated_rows(FOLDER / f"assertions_{name}.jsonl", parse_row)]
            for name in FILES
        }
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    columns = ["file", "texts", "findings", *MISTAKES, "texts with a mistake"]
    print(markdown_table(text_frame(columns, [[name, *measures(texts)] for name, texts in files.items()])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
