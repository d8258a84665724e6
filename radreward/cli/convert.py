"""`radreward convert`: rated pairs from published files, from groups, or from files of raters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from radreward.io.console import make_console
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
    "radeval-expert",
    "sentence-eval",
    "sentences",
    "green-preferences",
    "groups",
    "rate",
    "label-studio",
]


def run(*, input: Sequence[Path], from_: Layout, output: Path) -> int:
    """Convert published ratings, groups, or files of raters to the rated pairs that `benchmark` reads.

    The layout `sentences` writes the scores of single sentences instead, for `fit-regressor --scores`.

    Args:
        input: The file or folder as published; a file may be in any format that `score` reads. Or the files of all
            raters from `rate` or Label Studio, and their key.
        from_: Layout of the input.
        output: File to write: JSONL, CSV or Parquet by its name.
    """
    with claimed_file(output):
        from radreward.meta_evaluation.converters.convert import JOINING_CONVERTERS, convert

        summary = convert(from_, input, output)
        if from_ in JOINING_CONVERTERS:
            _print_rater_agreement(output)
    print_line(f"{summary}: {output}")
    return 0


def _print_rater_agreement(path: Path) -> None:
    from radreward.io.terminal_tables import TerminalTable
    from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
    from radreward.meta_evaluation.rater_table import RATER_FOOTNOTE, rater_table

    table = rater_table(read_rated_pairs(path).targets)
    if table is None:
        print_line("One rater: agreement is unknown.")
        return
    console = make_console()
    console.print(TerminalTable(*table), "", RATER_FOOTNOTE)
