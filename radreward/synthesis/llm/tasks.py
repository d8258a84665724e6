"""What is written: candidates of tiers, candidates with chosen errors, analyses of pairs, reasons for counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.llm.messages import Message
from radreward.synthesis.llm.parser import GeneratedReport, normalize_for_comparison
from radreward.synthesis.llm.prompts import (
    Tier,
    analysis_messages,
    error_severity,
    injection_messages,
    reasoning_messages,
    severity_tiers,
    tier_messages,
)
from radreward.types import ReportGroup

MAX_INJECTED_ERRORS = 4
"""Errors of a candidate whose errors are chosen for the writer."""


class GenerationRequest(NamedTuple):
    """One thing that is asked for."""

    id: str
    group: str
    """Of the reference: what is written for one reference is a group."""
    reference: str
    candidate: str | None
    """The report to be judged, or None where it is to be written."""
    required_errors: dict[str, float] | None
    """The errors that it is to have, or is known to have."""
    tier: str
    """The tier that was asked for; empty where none was."""
    messages: tuple[Message, ...]
    seed: int = 0


class GenerationTask(ABC):
    """What to ask about groups of reports, and what an answer must be.

    Args:
        criteria: By what errors are stated.
    """

    name: str
    sections: tuple[str, ...]
    """What an answer must have beside counts."""

    def __init__(self, criteria: Criteria) -> None:
        self.criteria = criteria

    @abstractmethod
    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """What is asked about groups, those of a group one after the other."""

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """Why an answer that could be read is not what was asked for: a kind, a colon and what it is about."""
        if request.required_errors is None:
            return None
        for tag in self.criteria.tags:
            if generated.counts[tag] != request.required_errors[tag]:
                return (
                    f"other errors than asked for: {tag}: {generated.counts[tag]}, not {request.required_errors[tag]:g}"
                )
        return None


class _CandidateTask(GenerationTask):
    sections = ("candidate", "errors")

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        if normalize_for_comparison(generated.candidate) == normalize_for_comparison(request.reference):
            return "a copy: the candidate is the reference"
        return super().find_mismatch(request, generated)


class TieredCandidates(_CandidateTask):
    """A good, a fair and a bad candidate for each reference, with the errors that the writer chose (ER²Score, 3.1).

    Args:
        criteria: By what errors are stated.

    Raises:
        InputError: If the criteria do not tell tiers apart.
    """

    name = "tiers"

    def __init__(self, criteria: Criteria) -> None:
        super().__init__(criteria)
        self.tiers: Mapping[str, Tier] = {tier.name: tier for tier in severity_tiers(criteria)}

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `Task.asks`."""
        return [
            GenerationRequest(
                f"{group.id}-{tier.name}",
                group.id,
                group.reference,
                None,
                None,
                tier.name,
                tier_messages(self.criteria, group.reference, tier),
            )
            for group in groups
            for tier in self.tiers.values()
        ]

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `Task.problem`: of its tier too."""
        found = error_severity(self.criteria, generated.counts)
        if not self.tiers[request.tier].contains(found):
            return f"not of its tier: {found:g} where {self.tiers[request.tier].description} were asked for"
        return super().find_mismatch(request, generated)


class ErrorInjection(_CandidateTask):
    """Candidates with errors that were drawn, or none, half of them subtle (GREEN, A.4).

    Args:
        criteria: By what errors are stated.
        per_reference: Candidates for each reference.
        seed: Decides which errors.

    Raises:
        ValueError: If `per_reference` is less than 1.
    """

    name = "injection"

    def __init__(self, criteria: Criteria, per_reference: int = 1, seed: int = 0) -> None:
        super().__init__(criteria)
        if per_reference < 1:
            raise ValueError(f"Expected `per_reference` to be >= 1 but got {per_reference}.")
        self.per_reference, self.seed = per_reference, seed

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `Task.asks`."""
        asks = []
        for group in groups:
            for number in range(self.per_reference):
                rng = Random(f"{self.seed}:{group.id}:{number}")
                wanted = self._sample_errors(rng)
                messages = injection_messages(self.criteria, group.reference, wanted, rng.random() < 0.5)
                # Two that ask for the same are two requests.
                asks.append(
                    GenerationRequest(
                        f"{group.id}-{number}", group.id, group.reference, None, wanted, "", messages, number
                    )
                )
        return asks

    def _sample_errors(self, rng: Random) -> dict[str, float]:
        wanted = dict.fromkeys(self.criteria.tags, 0.0)
        for _ in range(rng.randint(0, MAX_INJECTED_ERRORS)):
            criterion = rng.choice(self.criteria.criteria)
            if criterion.kind == "count" or not wanted[criterion.tag]:
                wanted[criterion.tag] += 1
        return wanted


class ErrorAnalysisTask(GenerationTask):
    """The errors of given candidates, an explanation and the findings that match (GREEN, A.1)."""

    name = "analysis"
    sections = ("explanation", "errors", "matched")

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `Task.asks`."""
        return [
            ask._replace(messages=analysis_messages(self.criteria, ask.reference, ask.candidate or ""))
            for ask in _pair_requests(groups, self.criteria)
        ]

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `Task.problem`: what matches must stand in the reference too."""
        for finding in generated.matched:
            if normalize_for_comparison(finding) not in normalize_for_comparison(request.reference):
                return f"matched finding not in the reference: {finding[:80]}"
        return super().find_mismatch(request, generated)


class ReasoningTask(GenerationTask):
    """The way from given candidates to the number of every criterion, or to numbers that are known (RadReason)."""

    name = "reasoning"
    sections = ("reasoning", "errors")

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `Task.asks`."""
        return [
            ask._replace(
                messages=reasoning_messages(self.criteria, ask.reference, ask.candidate or "", ask.required_errors)
            )
            for ask in _pair_requests(groups, self.criteria)
        ]


def _pair_requests(groups: Sequence[ReportGroup], criteria: Criteria) -> list[GenerationRequest]:
    """The pairs of groups, with their errors where these are known by the same criteria."""
    tags = set(criteria.tags)
    return [
        GenerationRequest(
            f"{group.id}-{number}",
            group.id,
            group.reference,
            entry.text,
            dict(entry.errors) if entry.errors is not None and set(entry.errors) == tags else None,
            "",
            (),
        )
        for group in groups
        for number, entry in enumerate(group.candidates)
    ]


TASKS: dict[str, type[GenerationTask]] = {
    task.name: task for task in (TieredCandidates, ErrorInjection, ErrorAnalysisTask, ReasoningTask)
}
"""By name."""
