"""`radreward convert`: rated pairs of published files, which stay where they are, or of groups."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from radreward.cli.errors import suppress_library_warnings, user_errors

LAYOUTS = (
    "rexval",
    "rate-eval-sentences",
    "rate-eval-paragraphs",
    "rate-eval-triads",
    "rad100",
    "sentences",
    "green-preferences",
    "nested",
    "groups",
)


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("source", type=Path, help="the file, or the folder of the files as they are published")
    parser.add_argument("--from", dest="layout", required=True, choices=LAYOUTS, help="how they are laid out")
    parser.add_argument("--output", required=True, type=Path, help="file to write, JSONL, CSV or Parquet by its name")


def run(options: Namespace) -> int:
    """Read a published layout and write rated pairs."""
    with suppress_library_warnings(), user_errors():
        from radreward.meta_evaluation.converters import convert

        found = convert(options.layout, options.source, options.output)
    print(f"{found}: {options.output}")
    return 0
