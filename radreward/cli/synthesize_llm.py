"""`radreward write`: training data by a language model; `radreward check-sheet`: what a person says of it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.llm_options import add_chat, chat_model

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.synthesis.llm import GenerationTask, JobResult
    from radreward.types import ReportGroup

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument(
        "--task",
        required=True,
        choices=("tiers", "injection", "analysis", "reasoning"),
        help="candidates of three tiers; candidates with errors that are drawn; analyses of pairs; reasons for counts",
    )
    parser.add_argument(
        "--reports", required=True, type=Path, help="file of reports; of pairs or groups for analysis and reasoning"
    )
    parser.add_argument("--column", default=None, help="column of --reports with the text, if it has no usual name")
    parser.add_argument("--limit", type=int, default=None, help="the most reports, or groups of pairs, that are read")
    parser.add_argument("--criteria", default="radcliq-significance", help="a preset or a YAML file")
    parser.add_argument("--per-reference", type=int, default=1, help="with injection: candidates for each reference")
    parser.add_argument("--temperature", type=float, default=1.0, help="how freely the model writes")
    parser.add_argument(
        "--seed", type=int, default=0, help="of errors that are drawn, of the answers, and of the sheet"
    )
    parser.add_argument("--sheet", type=int, default=50, help="samples that a person is to check")
    parser.add_argument("--output", required=True, type=Path, help="folder for what is written")
    parser.add_argument("--dry-run", action="store_true", help="tell how much would be asked, and ask nothing")
    add_chat(parser)


def add_sheet(parser: ArgumentParser) -> None:
    """Arguments of `check-sheet`."""
    parser.add_argument("sheet", type=Path, help="sheet.csv with counts in its columns `checked: ...`")
    parser.add_argument("--output", type=Path, default=None, help="CSV file for the table; none is written without")


def run(options: Namespace) -> int:
    """Write training data; 1 where an answer was rejected."""
    with suppress_library_warnings(), user_errors(constructing=True):
        from radreward.criteria import load_criteria
        from radreward.llm import estimate_volume
        from radreward.synthesis.llm import GenerationJob, run_job

        task = _task(options, load_criteria(options.criteria))
        job = GenerationJob.from_groups(task, _groups(options), options.max_tokens, options.temperature, options.seed)
        print(estimate_volume(job.chat_requests))
        if options.dry_run:
            print("Dry run: nothing was sent. Every request holds a whole report or two.")
            return 0
        model = chat_model(options, options.output / "answers.sqlite")
        writer = f"language model {options.model or 'named by the environment'} ({options.chat})"
        outcome = run_job(job, model, options.output, writer, options.reports.name, options.sheet, options.seed)
    return _report(outcome)


def check_sheet(options: Namespace) -> int:
    """Show how often a person counts as the writer did."""
    with suppress_library_warnings(), user_errors():
        from radreward.synthesis.llm import read_review_sheet, write_agreements

        found = read_review_sheet(options.sheet)
        if options.output:
            write_agreements(options.output, found)
    table = _table("Counted alike by the person", ("", "checked", "equal", "accuracy"))
    for entry in found:
        share = "–" if entry.accuracy is None else f"{entry.accuracy:.2f}"
        table.add_row(entry.tag, str(entry.num_checked), str(entry.num_equal), share)
    _console().print(table)
    if options.output:
        print(f"Table: {options.output}")
    return 0


def _task(options: Namespace, criteria: Criteria) -> GenerationTask:
    from radreward.synthesis.llm import TASKS, ErrorInjection

    if options.task == "injection":
        return ErrorInjection(criteria, options.per_reference, options.seed)
    return TASKS[options.task](criteria)


def _groups(options: Namespace) -> list[ReportGroup]:
    from radreward.synthesis.llm import read_pair_groups, read_references

    if options.task in ("analysis", "reasoning"):
        return read_pair_groups(options.reports, options.limit)
    groups, left_out = read_references(options.reports, options.column, options.limit)
    if left_out:
        print(f"Left out: {left_out} rows without text or with one that was there before", file=sys.stderr)
    return groups


def _report(outcome: JobResult) -> int:
    figures = outcome.statistics
    console = _console()
    table = _table("Acceptance", ("", "asked", "kept", "rate"))
    rows: dict[str, Any] = {"all": figures, **figures["tiers"]}
    for name, row in rows.items():
        table.add_row(name, str(row["asked"]), str(row["kept"]), f"{row['acceptance']:.3f}")
    console.print(table)
    for title, counts in (("Checked", figures["checks"]), ("Rejected because", figures["reasons"])):
        shown = _table(title, ("", "answers"))
        for name, count in counts.items():
            shown.add_row(name, str(count))
        if counts:
            console.print(shown)
    for name, file in (("kept", "written.jsonl"), ("rejected", "rejects.jsonl"), ("card", "card.json")):
        console.print(f"{name:<9} {outcome.folder / file}", soft_wrap=True, highlight=False)
    console.print(f"{'to check':<9} {outcome.folder / 'sheet.csv'}", soft_wrap=True, highlight=False)
    if outcome.rejected:
        missing = sum(count for reason, count in figures["reasons"].items() if reason == "no answer")
        again = f" Without an answer: {missing}; the same command asks for these again." if missing else ""
        first = outcome.rejected[0]
        print(
            f"Rejected: {len(outcome.rejected)} of {figures['asked']} answers; first {first.request.id}: {first.reason}."
            f"{again}",
            file=sys.stderr,
        )
    return 1 if outcome.rejected else 0


def _table(title: str, heads: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _console() -> Console:
    console = Console()
    return console if console.is_terminal and console.width <= WIDTH else Console(width=WIDTH)
