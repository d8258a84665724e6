"""`radreward convert`: rated pairs from published files, from groups, or from files of raters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

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
    "sentences",
    "green-preferences",
    "nested",
    "groups",
    "rate",
    "label-studio",
]


def run(*, input: Sequence[Path], from_: Layout, output: Path) -> int:
    """Convert published ratings, groups, or files of raters to the rated pairs that `benchmark` reads.

    The layout `sentences` writes the scores of single sentences instead, for `fit-regressor --scores`.

    Args:
        input: The file or folder as published, or the files of all raters from `rate` or Label Studio.
        from_: Layout of the input.
        output: File to write: JSONL, CSV or Parquet by its name.
    """
    with claimed_file(output):
        from radreward.meta_evaluation.converters import convert

        summary = convert(from_, input, output)
    print_line(f"{summary}: {output}")
    return 0
