"""`radreward summarize`: the errors of a report generator, from reports scored with explanations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_status, printable

_PROGRESS_INTERVAL = 10.0
"""Seconds between two lines of progress outside a terminal."""


def run(
    *, input: Sequence[Path], output: Path, scorer: str | None = None, encoder: str = "embedded", seed: int = 0
) -> int:
    """Summarize the errors of report generators, from reports scored with explanations.

    Args:
        input: Files that `radreward score --scorers green` or radreason wrote, with or without a folder. A column
            `system` names the report generator; without it every file is one generator.
        output: Folder for summary.html, summary.md and summary.json.
        scorer: Name (see `radreward list`), folder of a saved model or of a run, or my_file.py:my_metric; needed if the
            files have explanations of several.
        encoder: Encoder of the error descriptions: `embedded`, a folder or a Hub name.
        seed: Seed of all sampling; equal seeds give equal results.
    """
    with claimed_folder(output):
        from radreward.io.terminal_tables import TerminalTable
        from radreward.scoring.score_columns import named_model
        from radreward.systems.green.summary import captions, summarize_files, write_summary

        with _progress(output) as report:
            summary = summarize_files(list(input), encoder, seed, report, scorer and named_model(scorer)[0])
        written = write_summary(summary, output)
    console = make_console()
    console.print(TerminalTable(captions.page_title(summary), captions.statistics_frame(summary)))
    for section in captions.category_sections(summary):
        frame = captions.accuracy_frame(summary, section)
        console.print("", TerminalTable(section.title, frame))
    print_paths((path.suffix[1:], path) for path in written)
    return 0


@contextmanager
def _progress(output: Path) -> Iterator[Callable[[str], None]]:
    """Report the current step: in place in a terminal, otherwise by a line from time to time."""
    console = make_console(stderr=True)
    print_status(f"The summary goes to {output}.")
    if console.is_terminal:
        with console.status("reading") as status:
            yield lambda step: status.update(Text(printable(step)))
        return
    last = time.monotonic()

    def report(step: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_INTERVAL:
            last = time.monotonic()
            print_status(step)

    yield report
