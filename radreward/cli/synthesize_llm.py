"""`radreward synthesize-llm`: training data written by a language model and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.llm_options import LLMOptions
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from radreward.synthesis.llm import GenerationTask, JobResult
    from radreward.types import ReportGroup

Task = Literal["tiers", "injection", "analysis", "reasoning"]


def run(
    *,
    task: Task,
    reports: Path,
    output: Path,
    llm: LLMOptions,
    text_column: str | None = None,
    limit: int | None = None,
    criteria: str = "radcliq-significance",
    per_reference: int = 1,
    temperature: float = 1.0,
    max_tokens: int = 2048,
    seed: int = 0,
    review_samples: int = 50,
) -> int:
    """Generate training data with a language model, and check every answer.

    Args:
        task: Candidates of three quality tiers, candidates with sampled errors, analyses of pairs, or reasons for
            counts.
        reports: File of reports; of pairs or groups for analysis and reasoning.
        output: Folder for the generated data.
        llm: The language model.
        text_column: Column of --reports with the text, if it has no usual name.
        limit: Largest number of reports, or of groups of pairs, to read.
        criteria: Preset or YAML file of the criteria.
        per_reference: With injection: candidates per reference.
        temperature: Sampling temperature.
        max_tokens: Largest number of tokens in an answer.
        seed: Seed of the sampled errors, of the answers and of the review sheet.
        review_samples: Number of samples on the review sheet.
    """
    with suppress_library_warnings(), user_errors(constructing=True), claimed_folder(output):
        from radreward.llm import estimate_volume
        from radreward.synthesis.llm import GenerationJob, run_job

        generation_task = _task(task, criteria, per_reference, seed)
        groups = _groups(task, reports, text_column, limit)
        job = GenerationJob.from_groups(generation_task, groups, max_tokens, temperature, seed)
        print_line(estimate_volume(job.chat_requests))
        if llm.dry_run:
            print_line("Dry run: nothing was sent. Every request contains one or two whole reports.")
            return 0
        model = llm.load(output / "answers.sqlite")
        writer = f"language model {llm.model or 'named by the environment'} ({llm.chat})"
        result = run_job(job, model, output, writer, reports.name, review_samples, seed)
    _print_acceptance(result)
    _print_rejected(result)
    return 1 if result.rejected else 0


def _task(name: Task, criteria: str, per_reference: int, seed: int) -> GenerationTask:
    from radreward.criteria import load_criteria
    from radreward.synthesis.llm import TASKS, ErrorInjection

    loaded = load_criteria(criteria)
    return ErrorInjection(loaded, per_reference, seed) if name == "injection" else TASKS[name](loaded)


def _groups(task: Task, reports: Path, text_column: str | None, limit: int | None) -> list[ReportGroup]:
    from radreward.synthesis.llm import read_pair_groups, read_references

    if task in ("analysis", "reasoning"):
        return read_pair_groups(reports, limit)
    groups, skipped = read_references(reports, text_column, limit)
    if skipped:
        print_status(f"Skipped: {skipped} rows without a text, or with the text of an earlier row")
    return groups


def _print_acceptance(result: JobResult) -> None:
    statistics = result.statistics
    console = make_console()
    table = _table("Acceptance", "requested", "accepted", "rate")
    rows: dict[str, Any] = {"all": statistics, **statistics["tiers"]}
    for name, row in rows.items():
        table.add_row(name, str(row["requested"]), str(row["accepted"]), f"{row['acceptance']:.3f}")
    console.print(table)
    for title, counts in (("Checks", statistics["checks"]), ("Reasons of rejection", statistics["reasons"])):
        if counts:
            table = _table(title, "answers")
            for name, count in counts.items():
                table.add_row(name, str(count))
            console.print(table)
    names = (("accepted", "written.jsonl"), ("rejected", "rejects.jsonl"), ("card", "card.json"))
    print_paths((name, result.folder / file) for name, file in (*names, ("review sheet", "sheet.csv")))


def _print_rejected(result: JobResult) -> None:
    if not result.rejected:
        return
    missing = sum(count for reason, count in result.statistics["reasons"].items() if reason == "no answer")
    retry = f" Without an answer: {missing}; run the same command to request these again." if missing else ""
    first = result.rejected[0]
    summary = f"{len(result.rejected)} of {result.statistics['requested']} answers"
    print_status(f"Rejected: {summary}; the first is {first.request.id}: {first.reason}.{retry}")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
