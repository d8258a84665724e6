"""Published files of what people made of reports, each read from the user's own copy; none of them is shipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from radreward.data.tables import extension
from radreward.evaluation.published.groups import read_as_rated
from radreward.evaluation.rated import RatedPair, write_rated

LAYOUTS: dict[str, Callable[[Path], Iterable[RatedPair]]] = {"groups": read_as_rated}
"""What reads each layout."""


def convert(layout: str, source: Path, output: Path) -> str:
    """Write what a layout holds as rated pairs; what was written, in words.

    Raises:
        InputError: If the source cannot be read or the output cannot be written; names file, row, field and what was
            expected.
    """
    extension(output)
    rows = list(LAYOUTS[layout](source))
    write_rated(output, rows)
    return f"{len(rows)} rated pairs of {len({row.group for row in rows})} cases"
