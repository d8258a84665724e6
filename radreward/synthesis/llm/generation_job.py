"""Generation jobs: request, parse and check answers; write accepted and rejected ones with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.tables import AtomicTableWriter
from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.synthesis.llm.parser import GeneratedReport, parse_generated
from radreward.synthesis.llm.review_sheet import write_review_sheet
from radreward.synthesis.llm.tasks import GenerationRequest, GenerationTask
from radreward.synthesis.llm.validation import CHECK_LEVELS, check_reported_errors
from radreward.types import ReportGroup

ACCEPTED_COLUMNS = (
    *("id", "group", "reference", "candidate", "errors", "system", "tier"),
    *("stated", "explanation", "matched_findings", "check", "written_by"),
)
"""Columns of accepted samples; `read_groups` reads them as flat rows of groups."""
REJECTED_COLUMNS = ("id", "group", "tier", "reason", "reference", "candidate", "answer")


class GenerationJob(NamedTuple):
    """Requests of a task, before any is sent."""

    task: GenerationTask
    generation_requests: list[GenerationRequest]
    chat_requests: list[ChatRequest]

    @classmethod
    def from_groups(
        cls,
        task: GenerationTask,
        groups: Sequence[ReportGroup],
        max_tokens: int = 2048,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> GenerationJob:
        """Return the requests of a task about groups."""
        requests = task.build_requests(groups)
        chat_requests = [
            ChatRequest(request.messages, temperature=temperature, max_tokens=max_tokens, seed=seed + request.seed)
            for request in requests
        ]
        return cls(task, requests, chat_requests)


class AcceptedSample(NamedTuple):
    """An accepted answer."""

    request: GenerationRequest
    generated: GeneratedReport
    check_level: str

    @property
    def candidate(self) -> str:
        """The generated or judged report."""
        return self.generated.candidate if self.request.candidate is None else self.request.candidate

    def to_row(self, task: GenerationTask, written_by: str) -> dict[str, Any]:
        """Return a row of `ACCEPTED_COLUMNS`."""
        return {
            "id": self.request.id,
            "group": self.request.group,
            "reference": self.request.reference,
            "candidate": self.candidate,
            "errors": self.generated.counts,
            "system": f"language model: {task.name}",
            "tier": self.request.tier,
            "stated": [error._asdict() for error in self.generated.errors],
            "explanation": self.generated.explanation,
            "matched_findings": list(self.generated.matched),
            "check": self.check_level,
            "written_by": written_by,
        }


class RejectedAnswer(NamedTuple):
    """A rejected answer."""

    request: GenerationRequest
    reason: str
    """Kind and detail, separated by a colon."""
    answer: str
    candidate: str

    def to_row(self) -> dict[str, Any]:
        """Return a row of `REJECTED_COLUMNS`."""
        return {
            "id": self.request.id,
            "group": self.request.group,
            "tier": self.request.tier,
            "reason": self.reason,
            "reference": self.request.reference,
            "candidate": self.candidate,
            "answer": self.answer,
        }


class JobResult(NamedTuple):
    """Result of a job."""

    samples: list[AcceptedSample]
    rejected: list[RejectedAnswer]
    statistics: dict[str, Any]
    folder: Path


def run_job(
    job: GenerationJob,
    model: ChatModel,
    folder: Path,
    writer_description: str,
    source_description: str,
    review_samples: int = 50,
    seed: int = 0,
) -> JobResult:
    """Send the requests of a job, check the answers, and write accepted and rejected ones.

    The folder gets written.jsonl (accepted answers as rows that `read_groups` reads), rejects.jsonl (with reasons),
    card.json (settings and acceptance rates) and sheet.csv (samples for a reviewer).

    Args:
        job: The requests.
        model: The chat model; its cache allows an interrupted job to resume.
        folder: Output folder.
        writer_description: Name of the model, for the data card.
        source_description: Name of the reports, for the data card.
        review_samples: Maximum number of samples on the review sheet.
        seed: Seed of the choice of review samples.

    Raises:
        InputError: If the files cannot be written, or no request can be sent.
    """
    responses = model.complete(job.chat_requests)
    samples: list[AcceptedSample] = []
    rejected: list[RejectedAnswer] = []
    for request, response in zip(job.generation_requests, responses, strict=True):
        outcome = validate_answer(job.task, request, response)
        if isinstance(outcome, AcceptedSample):
            samples.append(outcome)
        else:
            rejected.append(outcome)
    if job.task.name == "tiers":
        samples, unpaired = _drop_unpaired(job.task, samples)
        rejected += unpaired
    result = JobResult(samples, rejected, job_statistics(job, samples, rejected, responses), folder)
    try:
        _write_files(job, result, writer_description, source_description, review_samples, seed)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return result


def validate_answer(
    task: GenerationTask, request: GenerationRequest, response: ChatResponse
) -> AcceptedSample | RejectedAnswer:
    """Parse and check one answer."""
    if response.status != "ok":
        return RejectedAnswer(request, f"no answer: {response.status}", response.text, "")
    generated = parse_generated(response.text, task.sections, task.criteria)
    reason = generated.error
    if reason and response.finish_reason == "length":
        reason = f"cut off: after {response.completion_tokens} tokens ({reason})"
    candidate = generated.candidate if request.candidate is None else request.candidate
    level = ""
    if reason is None:
        reason = task.find_mismatch(request, generated)
    if reason is None:
        level, reason = check_reported_errors(
            task.criteria, request.reference, candidate, generated.counts, generated.errors
        )
    if reason is not None:
        return RejectedAnswer(request, reason, response.text, candidate)
    return AcceptedSample(request, generated, level)


def _drop_unpaired(
    task: GenerationTask, samples: list[AcceptedSample]
) -> tuple[list[AcceptedSample], list[RejectedAnswer]]:
    """Separate samples of references with at least two candidates of different quality from the others."""
    groups: dict[str, list[AcceptedSample]] = {}
    rejected = []
    for sample in samples:
        group = groups.setdefault(sample.request.group, [])
        if any(sample.candidate == other.candidate for other in group):
            rejected.append(RejectedAnswer(sample.request, "a copy: of another candidate", "", sample.candidate))
        else:
            group.append(sample)
    paired = []
    for group in groups.values():
        totals = {round(task.criteria.weighted_errors(sample.generated.counts), 6) for sample in group}
        if len(totals) > 1:
            paired += group
        else:
            reason = "unpaired: no accepted candidate of its reference is better or worse"
            rejected += [RejectedAnswer(sample.request, reason, "", sample.candidate) for sample in group]
    return paired, rejected


def job_statistics(
    job: GenerationJob,
    samples: Sequence[AcceptedSample],
    rejected: Sequence[RejectedAnswer],
    responses: Sequence[ChatResponse],
) -> dict[str, Any]:
    """Return acceptance rates, reasons of rejection, levels of checks, and tokens."""
    num_requests = len(job.generation_requests)
    requested = Counter(request.tier for request in job.generation_requests)
    accepted = Counter(sample.request.tier for sample in samples)
    levels = Counter(sample.check_level for sample in samples)
    reasons = Counter(answer.reason.split(":")[0] for answer in rejected)
    return {
        "requested": num_requests,
        "answered": sum(response.status == "ok" for response in responses),
        "accepted": len(samples),
        "acceptance": len(samples) / num_requests if num_requests else None,
        "tiers": {
            tier: {"requested": count, "accepted": accepted[tier], "acceptance": accepted[tier] / count}
            for tier, count in requested.items()
            if tier
        },
        "checks": {level: levels[level] for level in CHECK_LEVELS},
        "reasons": dict(reasons.most_common()),
        "errors": {tag: sum(sample.generated.counts[tag] for sample in samples) for tag in job.task.criteria.tags},
        "tokens": {
            "prompts": sum(response.prompt_tokens or 0 for response in responses),
            "answers": sum(response.completion_tokens or 0 for response in responses),
        },
    }


def _write_files(
    job: GenerationJob, result: JobResult, written_by: str, source: str, review_samples: int, seed: int
) -> None:
    task, folder = job.task, result.folder
    folder.mkdir(parents=True, exist_ok=True)
    rows = [sample.to_row(task, written_by) for sample in result.samples]
    _write_rows(folder / "written.jsonl", ACCEPTED_COLUMNS, rows)
    _write_rows(folder / "rejects.jsonl", REJECTED_COLUMNS, [answer.to_row() for answer in result.rejected])
    card = {
        "label": "SYNTHETIC: written by a language model, checked by rules only; not for patient care",
        "written_by": written_by,
        "source": source,
        "settings": {
            name: sorted({getattr(request, name) for request in job.chat_requests})
            for name in ("temperature", "max_tokens", "seed")
        },
        "task": task.name,
        "criteria": task.criteria.to_dict(),
        **result.statistics,
    }
    write_json(folder / "card.json", card)
    write_review_sheet(folder / "sheet.csv", task.criteria, rows, review_samples, seed)


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with AtomicTableWriter(path, pa.schema({name: pa.string() for name in columns})) as file:
        file.write(rows)
