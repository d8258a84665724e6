"""A job of writing: ask, read, check, and write down what is kept, what is not and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
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
    *("stated", "words", "matched", "check", "written_by"),
)
"""Columns of what is kept; `read_groups` takes them as flat rows of groups."""
REJECTED_COLUMNS = ("id", "group", "tier", "reason", "reference", "candidate", "answer")


class GenerationJob(NamedTuple):
    """What is to be asked, before anything is."""

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
        """The requests of a task about groups."""
        asks = task.build_requests(groups)
        requests = [
            ChatRequest(ask.messages, temperature=temperature, max_tokens=max_tokens, seed=seed + ask.seed)
            for ask in asks
        ]
        return cls(task, asks, requests)


class AcceptedSample(NamedTuple):
    """An answer that is kept."""

    request: GenerationRequest
    generated: GeneratedReport
    check_level: str

    @property
    def candidate(self) -> str:
        """The report that was written or judged."""
        return self.generated.candidate if self.request.candidate is None else self.request.candidate


class RejectedAnswer(NamedTuple):
    """An answer that is not kept."""

    request: GenerationRequest
    reason: str
    """The kind, a colon and what it is about."""
    answer: str
    candidate: str


class JobResult(NamedTuple):
    """What a job came to."""

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
    """Ask all of a job, check the answers, and write what was kept and what was not.

    The folder gets written.jsonl (what was kept: flat rows that `read_groups` reads), rejects.jsonl (with reasons),
    card.json (what it is, acceptance rates) and sheet.csv (samples for a person to check).

    Args:
        job: What is asked.
        model: Who is asked; its cache lets a job that was interrupted go on.
        folder: Where files go.
        writer: Who is asked, in words, for the data card.
        source: Of what reports, likewise.
        sheet: How many samples a person is to check; all where there are fewer.
        seed: Of their choice.

    Raises:
        InputError: If the files cannot be written, or requests cannot be sent at all.
    """
    answers = model.complete(job.chat_requests)
    samples: list[AcceptedSample] = []
    rejects: list[RejectedAnswer] = []
    for ask, answer in zip(job.generation_requests, answers, strict=True):
        kept = validate_answer(job.task, ask, answer)
        if isinstance(kept, AcceptedSample):
            samples.append(kept)
        else:
            rejects.append(kept)
    if job.task.name == "tiers":
        samples, alone = _drop_unpaired(job.task, samples)
        rejects += alone
    outcome = JobResult(samples, rejects, job_statistics(job, samples, rejects, answers), folder)
    try:
        _write_files(job, outcome, writer_description, source_description, review_samples, seed)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return outcome


def validate_answer(
    task: GenerationTask, request: GenerationRequest, response: ChatResponse
) -> AcceptedSample | RejectedAnswer:
    """Read and check one answer."""
    if response.status != "ok":
        return RejectedAnswer(request, f"no answer: {response.status}", response.text, "")
    written = parse_generated(response.text, task.sections, task.criteria)
    problem = written.error
    if problem and response.finish_reason == "length":
        problem = f"cut off: after {response.completion_tokens} tokens ({problem})"
    candidate = written.candidate if request.candidate is None else request.candidate
    level = ""
    if problem is None:
        problem = task.find_mismatch(request, written)
    if problem is None:
        level, problem = check_reported_errors(
            task.criteria, request.reference, candidate, written.counts, written.errors
        )
    if problem is not None:
        return RejectedAnswer(request, problem, response.text, candidate)
    return AcceptedSample(request, written, level)


def _drop_unpaired(
    task: GenerationTask, samples: list[AcceptedSample]
) -> tuple[list[AcceptedSample], list[RejectedAnswer]]:
    """Samples of references with two different candidates at least that are not as good; the others apart."""
    groups: dict[str, list[AcceptedSample]] = {}
    rejects = []
    for sample in samples:
        own = groups.setdefault(sample.request.group, [])
        if any(sample.candidate == other.candidate for other in own):
            rejects.append(RejectedAnswer(sample.request, "a copy: of another candidate", "", sample.candidate))
        else:
            own.append(sample)
    kept = []
    for own in groups.values():
        totals = {round(task.criteria.weighted_errors(sample.generated.counts), 6) for sample in own}
        if len(totals) > 1:
            kept += own
        else:
            reason = "alone: no other candidate of its reference was kept that is better or worse"
            rejects += [RejectedAnswer(sample.request, reason, "", sample.candidate) for sample in own]
    return kept, rejects


def job_statistics(
    job: GenerationJob,
    samples: Sequence[AcceptedSample],
    rejected: Sequence[RejectedAnswer],
    responses: Sequence[ChatResponse],
) -> dict[str, Any]:
    """Acceptance rates, reasons, how far samples were checked, tokens."""
    asked = Counter(ask.tier for ask in job.generation_requests)
    kept = Counter(sample.request.tier for sample in samples)
    levels = Counter(sample.check_level for sample in samples)
    reasons = Counter(reject.reason.split(":")[0] for reject in rejected)
    return {
        "asked": len(job.generation_requests),
        "answered": sum(answer.status == "ok" for answer in responses),
        "kept": len(samples),
        "acceptance": len(samples) / len(job.generation_requests) if job.generation_requests else None,
        "tiers": {
            tier: {"asked": count, "kept": kept[tier], "acceptance": kept[tier] / count}
            for tier, count in asked.items()
            if tier
        },
        "checks": {level: levels[level] for level in CHECK_LEVELS},
        "reasons": dict(reasons.most_common()),
        "errors": {tag: sum(sample.generated.counts[tag] for sample in samples) for tag in job.task.criteria.tags},
        "tokens": {
            "prompts": sum(answer.prompt_tokens or 0 for answer in responses),
            "answers": sum(answer.completion_tokens or 0 for answer in responses),
        },
    }


def _write_files(job: GenerationJob, outcome: JobResult, writer: str, source: str, sheet: int, seed: int) -> None:
    task, folder = job.task, outcome.folder
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema({name: pa.string() for name in ACCEPTED_COLUMNS})
    with AtomicTableWriter(folder / "written.jsonl", schema) as file:
        file.write(list(_rows(task, outcome.samples, writer)))
    with AtomicTableWriter(
        folder / "rejects.jsonl", pa.schema({name: pa.string() for name in REJECTED_COLUMNS})
    ) as file:
        file.write(
            [
                {
                    "id": reject.request.id,
                    "group": reject.request.group,
                    "tier": reject.request.tier,
                    "reason": reject.reason,
                    "reference": reject.request.reference,
                    "candidate": reject.candidate,
                    "answer": reject.answer,
                }
                for reject in outcome.rejected
            ]
        )
    card = {
        "label": "SYNTHETIC: written by a language model, checked by rules only; not for patient care",
        "written_by": writer,
        "source": source,
        "settings": {
            name: sorted({getattr(request, name) for request in job.chat_requests})
            for name in ("temperature", "max_tokens", "seed")
        },
        "task": task.name,
        "criteria": task.criteria.to_dict(),
        **outcome.statistics,
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    write_review_sheet(folder / "sheet.csv", task.criteria, list(_rows(task, outcome.samples, writer)), sheet, seed)


def _rows(task: GenerationTask, samples: Sequence[AcceptedSample], writer: str) -> Iterator[Mapping[str, Any]]:
    for ask, written, level in samples:
        yield {
            "id": ask.id,
            "group": ask.group,
            "reference": ask.reference,
            "candidate": written.candidate if ask.candidate is None else ask.candidate,
            "errors": written.counts,
            "system": f"language model: {task.name}",
            "tier": ask.tier,
            "stated": [error._asdict() for error in written.errors],
            "words": written.explanation,
            "matched": list(written.matched),
            "check": level,
            "written_by": writer,
        }
