"""Training data written by a language model and checked: `synthesize --llm-task`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from radreward.cli.inputs import check_minimum
from radreward.cli.llm_options import LLMOptions
from radreward.errors import InputError
from radreward.io.console import make_console, print_paths
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from radreward.synthesis.llm.generation_job import JobResult
    from radreward.synthesis.llm.tasks import GenerationTask
    from radreward.types import ReportGroup

_Task = Literal["tiers", "injection", "analysis", "reasoning"]


@dataclass(frozen=True)
class LLMWriting:
    """Data that a language model writes.

    Args:
        llm_task: Data that a language model writes; every answer is checked. `tiers`: candidates of three tiers;
            `injection`: candidates with sampled errors; `analysis`: analyses of pairs; `reasoning`: reasons for counts.
        review_samples: With --llm-task: number of samples on the review sheet, see `evaluate --review-sheet`.
        llm: The language model.
    """

    llm_task: _Task | None = None
    review_samples: int = 50
    llm: LLMOptions = field(default_factory=LLMOptions)

    def write(
        self,
        output: Path,
        reports: Path | None,
        text_column: str | None,
        criteria: str,
        num_groups: int | None,
        per_reference: int,
        seed: int,
    ) -> int:
        """Ask the language model, check and write its answers, and return the exit code.

        Raises:
            InputError: If the reports or the language model cannot be used, or a number is out of range.
        """
        from radreward.llm import estimate_volume
        from radreward.synthesis.llm.generation_job import GenerationJob, run_job

        if reports is None or self.llm_task is None:
            raise InputError("--llm-task: Expected the reports in --reports but got none.")
        check_minimum(0, seed=seed, review_samples=self.review_samples)
        groups = _groups(self.llm_task, reports, text_column, num_groups)
        task, llm = _task(self.llm_task, criteria, per_reference, seed), self.llm
        job = GenerationJob.from_groups(task, groups, llm.max_tokens, llm.temperature, seed)
        print_line(estimate_volume(job.chat_requests))
        if llm.dry_run:
            print_line("Dry run: nothing was sent. Every request contains one or two whole reports.")
            return 0
        model = llm.load(output / "answers.sqlite")
        writer = f"language model {llm.model or 'named by the environment'} ({llm.chat})"
        result = run_job(job, model, output, writer, reports.name, self.review_samples, seed)
        _print_acceptance(result)
        _print_rejected(result)
        return 1 if result.rejected else 0


def _task(name: _Task, criteria: str, per_reference: int, seed: int) -> GenerationTask:
    from radreward.criteria import load_criteria
    from radreward.synthesis.llm.tasks import TASKS, ErrorInjection

    loaded = load_criteria(criteria)
    return ErrorInjection(loaded, per_reference, seed) if name == "injection" else TASKS[name](loaded)


def _groups(task: _Task, reports: Path, text_column: str | None, limit: int | None) -> list[ReportGroup]:
    from radreward.synthesis.report_reader import read_pair_groups, read_references

    if task in ("analysis", "reasoning"):
        return read_pair_groups(reports, limit)
    groups, skipped = read_references(reports, text_column, limit)
    if skipped:
        print_status(f"Skipped: {skipped} rows without a text, or with the text of an earlier row")
    return groups


def _print_acceptance(result: JobResult) -> None:
    from radreward.io.terminal_tables import TerminalTable
    from radreward.io.text_tables import text_frame

    statistics = result.statistics
    rows: dict[str, Any] = {"all": statistics, **statistics["tiers"]}
    cells = [(name, row["requested"], row["accepted"], f"{row['acceptance']:.3f}") for name, row in rows.items()]
    frames = {"Acceptance": text_frame(["", "requested", "accepted", "rate"], cells)}
    for title, counts in (("Checks", statistics["checks"]), ("Reasons of rejection", statistics["reasons"])):
        if counts:
            frames[title] = text_frame(["", "answers"], list(counts.items()))
    for title, frame in frames.items():
        make_console().print(TerminalTable(title, frame))
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
