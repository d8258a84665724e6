"""`radreward summarize`: what a model that explains says of whole report generators."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.errors import InputError

EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument(
        "--input",
        required=True,
        nargs="+",
        type=Path,
        help="what `radreward score --model green:FOLDER` or radreason:FOLDER wrote; systems are told apart by a "
        "column `system`, and without one by file",
    )
    parser.add_argument(
        "--output", required=True, type=Path, help="folder for summary.html, summary.md and summary.json"
    )
    parser.add_argument(
        "--encoder",
        default="embedded",
        help="what embeds errors in words: MiniLM, or the folder or hub name of another",
    )
    parser.add_argument("--seed", type=int, default=0, help="of clusters and plot")


def run(options: Namespace) -> int:
    """Summarise what was said, show the scores and write the files."""
    with suppress_library_warnings(), user_errors():
        if options.output.exists() and not options.output.is_dir():
            raise InputError(f"{options.output}: Expected a folder to write into but it is a file.")
        from radreward.io.text_tables import terminal_table
        from radreward.systems.green.summary import captions as told
        from radreward.systems.green.summary import summarize_files, write_summary

        with _progress(options.output) as tell:
            found = summarize_files(options.input, options.encoder, options.seed, tell)
        written = write_summary(found, options.output)
    console = Console()
    console.print(terminal_table(told.page_title(found), *told.score_rows(found)), markup=False)
    for section in told.category_sections(found):
        console.print("", terminal_table(section.title, *told.accuracy_rows(found, section)), markup=False)
    for path in written:
        console.print(f"{path.suffix[1:]:<5} {path}", soft_wrap=True, highlight=False, markup=False)
    return 0


@contextmanager
def _progress(output: Path) -> Iterator[Callable[[str], None]]:
    """Tells what is being done: in place where there is a terminal, elsewhere by a line now and then."""
    console = Console(stderr=True)
    print(f"The summary goes to {output}.", file=sys.stderr)
    if console.is_terminal:
        with console.status("reading") as shown:
            yield lambda what: shown.update(escape(what))
        return
    told = time.monotonic()

    def tell(what: str) -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            print(what, file=sys.stderr, flush=True)

    yield tell
