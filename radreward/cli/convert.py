"""`radreward convert`: rated pairs from published files, which stay where they are, or from groups."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line

Layout = Literal[
    "rexval",
    "rate-eval-sentences",
    "rate-eval-paragraphs",
    "rate-eval-triads",
    "rad100",
    "radpref",
    "radjudge",
    "sentence-eval",
    "green-preferences",
    "nested",
    "groups",
]


def run(source: Path, /, *, from_: Layout, output: Path) -> int:
    """Convert published ratings, or groups, to the rated pairs that `benchmark` reads.

    Args:
        source: The file, or the folder of the files, as published.
        from_: Layout of the source.
        output: File to write: JSONL, CSV or Parquet by its name.
    """
    with suppress_library_warnings(), user_errors(), claimed_file(output):
        from radreward.meta_evaluation.converters import convert

        summary = convert(from_, source, output)
    print_line(f"{summary}: {output}")
    return 0
