"""A job of writing: ask, read, check, and write down what is kept, what is not and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.tables import TableWriter
from radreward.llm import ChatModel
from radreward.synthesis.llm.parser import Written, read_written
from radreward.synthesis.llm.review_sheet import write_sheet
from radreward.synthesis.llm.tasks import Ask, Task
from radreward.synthesis.llm.validation import LEVELS, check
from radreward.types import ChatAnswer, ChatRequest, ReportGroup

KEPT = (
    *("id", "group", "reference", "candidate", "errors", "system", "tier"),
    *("stated", "words", "matched", "check", "written_by"),
)
"""Columns of what is kept; `read_groups` takes them as flat rows of groups."""
REJECTED = ("id", "group", "tier", "reason", "reference", "candidate", "answer")


class Job(NamedTuple):
    """What is to be asked, before anything is."""

    task: Task
    asks: list[Ask]
    requests: list[ChatRequest]

    @classmethod
    def of(
        cls,
        task: Task,
        groups: Sequence[ReportGroup],
        max_tokens: int = 2048,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> Job:
        """The requests of a task about groups."""
        asks = task.asks(groups)
        requests = [
            ChatRequest(ask.messages, temperature=temperature, max_tokens=max_tokens, seed=seed + ask.seed)
            for ask in asks
        ]
        return cls(task, asks, requests)


class Sample(NamedTuple):
    """An answer that is kept."""

    ask: Ask
    written: Written
    level: str

    @property
    def candidate(self) -> str:
        """The report that was written or judged."""
        return self.written.candidate if self.ask.candidate is None else self.ask.candidate


class Reject(NamedTuple):
    """An answer that is not kept."""

    ask: Ask
    reason: str
    """The kind, a colon and what it is about."""
    answer: str
    candidate: str


class Outcome(NamedTuple):
    """What a job came to."""

    samples: list[Sample]
    rejects: list[Reject]
    figures: dict[str, Any]
    folder: Path


def write(
    job: Job, model: ChatModel, folder: Path, writer: str, source: str, sheet: int = 50, seed: int = 0
) -> Outcome:
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
    answers = model.complete(job.requests)
    samples: list[Sample] = []
    rejects: list[Reject] = []
    for ask, answer in zip(job.asks, answers, strict=True):
        kept = judge(job.task, ask, answer)
        if isinstance(kept, Sample):
            samples.append(kept)
        else:
            rejects.append(kept)
    if job.task.name == "tiers":
        samples, alone = _with_pairs(job.task, samples)
        rejects += alone
    outcome = Outcome(samples, rejects, figures(job, samples, rejects, answers), folder)
    try:
        _write_files(job, outcome, writer, source, sheet, seed)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return outcome


def judge(task: Task, ask: Ask, answer: ChatAnswer) -> Sample | Reject:
    """Read and check one answer."""
    if answer.status != "ok":
        return Reject(ask, f"no answer: {answer.status}", answer.text, "")
    written = read_written(answer.text, task.sections, task.criteria)
    problem = written.problem
    if problem and answer.finish == "length":
        problem = f"cut off: after {answer.completion_tokens} tokens ({problem})"
    candidate = written.candidate if ask.candidate is None else ask.candidate
    level = ""
    if problem is None:
        problem = task.problem(ask, written)
    if problem is None:
        level, problem = check(task.criteria, ask.reference, candidate, written.counts, written.errors)
    if problem is not None:
        return Reject(ask, problem, answer.text, candidate)
    return Sample(ask, written, level)


def _with_pairs(task: Task, samples: list[Sample]) -> tuple[list[Sample], list[Reject]]:
    """Samples of references with two different candidates at least that are not as good; the others apart."""
    groups: dict[str, list[Sample]] = {}
    rejects = []
    for sample in samples:
        own = groups.setdefault(sample.ask.group, [])
        if any(sample.candidate == other.candidate for other in own):
            rejects.append(Reject(sample.ask, "a copy: of another candidate", "", sample.candidate))
        else:
            own.append(sample)
    kept = []
    for own in groups.values():
        totals = {round(task.criteria.penalty(sample.written.counts), 6) for sample in own}
        if len(totals) > 1:
            kept += own
        else:
            reason = "alone: no other candidate of its reference was kept that is better or worse"
            rejects += [Reject(sample.ask, reason, "", sample.candidate) for sample in own]
    return kept, rejects


def figures(
    job: Job, samples: Sequence[Sample], rejects: Sequence[Reject], answers: Sequence[ChatAnswer]
) -> dict[str, Any]:
    """Acceptance rates, reasons, how far samples were checked, tokens."""
    asked = Counter(ask.tier for ask in job.asks)
    kept = Counter(sample.ask.tier for sample in samples)
    levels = Counter(sample.level for sample in samples)
    reasons = Counter(reject.reason.split(":")[0] for reject in rejects)
    return {
        "asked": len(job.asks),
        "answered": sum(answer.status == "ok" for answer in answers),
        "kept": len(samples),
        "acceptance": len(samples) / len(job.asks) if job.asks else None,
        "tiers": {
            tier: {"asked": count, "kept": kept[tier], "acceptance": kept[tier] / count}
            for tier, count in asked.items()
            if tier
        },
        "checks": {level: levels[level] for level in LEVELS},
        "reasons": dict(reasons.most_common()),
        "errors": {tag: sum(sample.written.counts[tag] for sample in samples) for tag in job.task.criteria.tags},
        "tokens": {
            "prompts": sum(answer.prompt_tokens or 0 for answer in answers),
            "answers": sum(answer.completion_tokens or 0 for answer in answers),
        },
    }


def _write_files(job: Job, outcome: Outcome, writer: str, source: str, sheet: int, seed: int) -> None:
    task, folder = job.task, outcome.folder
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema({name: pa.string() for name in KEPT})
    with TableWriter(folder / "written.jsonl", schema) as file:
        file.write(list(_rows(task, outcome.samples, writer)))
    with TableWriter(folder / "rejects.jsonl", pa.schema({name: pa.string() for name in REJECTED})) as file:
        file.write(
            [
                {
                    "id": reject.ask.id,
                    "group": reject.ask.group,
                    "tier": reject.ask.tier,
                    "reason": reject.reason,
                    "reference": reject.ask.reference,
                    "candidate": reject.candidate,
                    "answer": reject.answer,
                }
                for reject in outcome.rejects
            ]
        )
    card = {
        "label": "SYNTHETIC: written by a language model, checked by rules only; not for patient care",
        "written_by": writer,
        "source": source,
        "settings": {
            name: sorted({getattr(request, name) for request in job.requests})
            for name in ("temperature", "max_tokens", "seed")
        },
        "task": task.name,
        "criteria": task.criteria.to_dict(),
        **outcome.figures,
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    write_sheet(folder / "sheet.csv", task.criteria, list(_rows(task, outcome.samples, writer)), sheet, seed)


def _rows(task: Task, samples: Sequence[Sample], writer: str) -> Iterator[Mapping[str, Any]]:
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
            "words": written.words,
            "matched": list(written.matched),
            "check": level,
            "written_by": writer,
        }
