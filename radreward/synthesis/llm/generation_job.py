"""Generation jobs: send requests, check the answers, and write accepted and rejected ones."""

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


class GenerationJob(NamedTuple):
    """All requests of a task, not yet sent."""

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
        requests = [request for group in groups for request in task.build_requests(group)]
        chat_requests = [
            ChatRequest(request.messages, temperature=temperature, max_tokens=max_tokens, seed=seed + request.seed)
            for request in requests
        ]
        return cls(task, requests, chat_requests)


class _CheckedAnswer(NamedTuple):
    """An answer to a request, accepted or rejected."""

    request: GenerationRequest
    text: str
    """The answer of the model."""
    candidate: str
    """The report that the model wrote or judged."""
    generated: GeneratedReport
    check_level: str
    """One of `CHECK_LEVELS`, or empty if the answer is rejected."""
    reason: str | None
    """Reason of the rejection as "kind: detail", or None."""

    def reject(self, reason: str) -> _CheckedAnswer:
        """Return the answer as rejected, without its text."""
        return self._replace(reason=reason, text="", check_level="")


class JobResult(NamedTuple):
    """Result of a job."""

    samples: list[_CheckedAnswer]
    """Accepted answers."""
    rejected: list[_CheckedAnswer]
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
        writer_description: Name of the model in the data card.
        source_description: Name of the reports in the data card.
        review_samples: Maximum number of samples on the review sheet.
        seed: Seed of the random choice of samples for the review sheet.

    Raises:
        InputError: If the files cannot be written, or no request can be sent.
    """
    responses = model.complete(job.chat_requests)
    pairs = zip(job.generation_requests, responses, strict=True)
    answers = [_check_answer(job.task, request, response) for request, response in pairs]
    samples = [answer for answer in answers if answer.reason is None]
    rejected = [answer for answer in answers if answer.reason is not None]
    if job.task.name == "tiers":
        samples, unpaired = _drop_unpaired(job.task, samples)
        rejected += unpaired
    result = JobResult(samples, rejected, _job_statistics(job, samples, rejected, responses), folder)
    try:
        _write_files(job, result, writer_description, source_description, review_samples, seed)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return result


def _check_answer(task: GenerationTask, request: GenerationRequest, response: ChatResponse) -> _CheckedAnswer:
    """Parse and check one answer."""
    if response.status != "ok":
        return _CheckedAnswer(request, response.text, "", GeneratedReport(), "", f"no answer: {response.status}")
    generated = parse_generated(response.text, task.sections, task.criteria)
    candidate = generated.candidate if request.candidate is None else request.candidate
    level, reason = "", generated.error
    if reason and response.finish_reason == "length":
        reason = f"cut off: after {response.completion_tokens} tokens ({reason})"
    if reason is None:
        reason = task.find_mismatch(request, generated)
    if reason is None:
        level, reason = check_reported_errors(
            task.criteria, request.reference, candidate, generated.counts, generated.errors
        )
    return _CheckedAnswer(request, response.text, candidate, generated, level, reason)


def _drop_unpaired(
    task: GenerationTask, samples: list[_CheckedAnswer]
) -> tuple[list[_CheckedAnswer], list[_CheckedAnswer]]:
    """Return the samples of references with candidates of different totals, and the others as rejected."""
    groups: dict[str, list[_CheckedAnswer]] = {}
    rejected = []
    for sample in samples:
        group = groups.setdefault(sample.request.group, [])
        if any(sample.candidate == other.candidate for other in group):
            rejected.append(sample.reject("a copy: of another candidate"))
        else:
            group.append(sample)
    paired = []
    for group in groups.values():
        totals = {round(task.criteria.weighted_errors(sample.generated.counts), 6) for sample in group}
        if len(totals) > 1:
            paired += group
        else:
            reason = "unpaired: no accepted candidate of its reference is better or worse"
            rejected += [sample.reject(reason) for sample in group]
    return paired, rejected


def _job_statistics(
    job: GenerationJob,
    samples: Sequence[_CheckedAnswer],
    rejected: Sequence[_CheckedAnswer],
    responses: Sequence[ChatResponse],
) -> dict[str, Any]:
    """Return acceptance rates, reasons of rejection, check levels and numbers of tokens."""
    num_requests = len(job.generation_requests)
    requested = Counter(request.tier for request in job.generation_requests)
    accepted = Counter(sample.request.tier for sample in samples)
    levels = Counter(sample.check_level for sample in samples)
    reasons = Counter(answer.reason.split(":")[0] for answer in rejected if answer.reason)
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
    rows = [_accepted_row(task, sample, written_by) for sample in result.samples]
    _write_rows(folder / "written.jsonl", rows)
    _write_rows(folder / "rejects.jsonl", [_rejected_row(answer) for answer in result.rejected])
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


def _accepted_row(task: GenerationTask, sample: _CheckedAnswer, written_by: str) -> dict[str, Any]:
    """Return a row that `read_groups` reads."""
    return {
        "id": sample.request.id,
        "group": sample.request.group,
        "reference": sample.request.reference,
        "candidate": sample.candidate,
        "errors": sample.generated.counts,
        "system": f"language model: {task.name}",
        "tier": sample.request.tier,
        "stated": [error._asdict() for error in sample.generated.errors],
        "explanation": sample.generated.explanation,
        "matched_findings": list(sample.generated.matched),
        "check": sample.check_level,
        "written_by": written_by,
    }


def _rejected_row(answer: _CheckedAnswer) -> dict[str, Any]:
    return {
        "id": answer.request.id,
        "group": answer.request.group,
        "tier": answer.request.tier,
        "reason": answer.reason,
        "reference": answer.request.reference,
        "candidate": answer.candidate,
        "answer": answer.text,
    }


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with AtomicTableWriter(path, pa.schema([])) as file:  # JSON lines need no schema
        file.write(rows)
