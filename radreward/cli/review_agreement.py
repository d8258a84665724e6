"""`radreward review-agreement`: agreement of a reviewer with generated annotations."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.io.console import make_console
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line


def run(sheet: Path, /, *, output: Path | None = None) -> int:
    """Measure reviewer agreement with LLM-written annotations.

    Args:
        sheet: The review sheet, with counts in its columns `checked: ...`.
        output: CSV file to write the table to.
    """
    with suppress_library_warnings(), user_errors(), claimed_file(output):
        from radreward.synthesis.llm import read_review_sheet, write_agreements

        agreement = read_review_sheet(sheet)
        if output:
            write_agreements(output, agreement)
    table = Table(title="Agreement of the reviewer", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("checked", "equal", "accuracy"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in agreement:
        accuracy = "–" if entry.accuracy is None else f"{entry.accuracy:.2f}"
        table.add_row(entry.tag, str(entry.num_checked), str(entry.num_equal), accuracy)
    make_console().print(table)
    if output:
        print_line(f"Table: {output}")
    return 0
