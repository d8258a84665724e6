"""Generation tasks: candidates of tiers, candidates with given errors, analyses of pairs, reasons for counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from radreward.criteria import Criteria
from radreward.llm.messages import Message
from radreward.synthesis.llm.parser import GeneratedReport, normalize_for_comparison
from radreward.synthesis.llm.prompts import (
    analysis_messages,
    injection_messages,
    reasoning_messages,
    tier_messages,
)
from radreward.synthesis.tiers import Tier, error_severity, severity_tiers
from radreward.types import ReportGroup

MAX_INJECTED_ERRORS = 4
"""Maximum number of errors of a candidate with given errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One request for a report or an analysis."""

    id: str
    group: str
    """Id of the reference; all candidates of a reference are one group."""
    reference: str
    candidate: str | None = None
    """The report to judge, or None if one is requested."""
    required_errors: dict[str, float] | None = None
    """The errors that the candidate must have, or is known to have."""
    tier: str = ""
    """The requested tier, if any."""
    messages: tuple[Message, ...] = ()
    seed: int = 0


class GenerationTask(ABC):
    """A kind of request about groups of reports, and the conditions on its answers.

    Args:
        criteria: Criteria of the error counts.
    """

    name: str
    sections: tuple[str, ...]
    """Sections that an answer must have beside counts."""

    def __init__(self, criteria: Criteria) -> None:
        self.criteria = criteria

    @abstractmethod
    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """Return the requests about groups, in the order of the groups."""

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """Return why a parsed answer does not match its request (kind and detail), or None."""
        if request.required_errors is None:
            return None
        for tag in self.criteria.tags:
            required = request.required_errors[tag]
            if generated.counts[tag] != required:
                return f"other errors than requested: {tag}: {generated.counts[tag]}, not {required:g}"
        return None


class _CandidateTask(GenerationTask):
    sections = ("candidate", "errors")

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        if normalize_for_comparison(generated.candidate) == normalize_for_comparison(request.reference):
            return "a copy: the candidate is the reference"
        return super().find_mismatch(request, generated)


class TieredCandidates(_CandidateTask):
    """A good, a fair and a bad candidate per reference, with errors of the model's choice (ER²Score, section 3.1).

    Args:
        criteria: Criteria of the error counts.

    Raises:
        InputError: If the criteria cannot separate tiers.
    """

    name = "tiers"

    def __init__(self, criteria: Criteria) -> None:
        super().__init__(criteria)
        self.tiers: Mapping[str, Tier] = {tier.name: tier for tier in severity_tiers(criteria)}

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `GenerationTask.build_requests`."""
        return [
            GenerationRequest(
                id=f"{group.id}-{tier.name}",
                group=group.id,
                reference=group.reference,
                tier=tier.name,
                messages=tier_messages(self.criteria, group.reference, tier),
            )
            for group in groups
            for tier in self.tiers.values()
        ]

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `GenerationTask.find_mismatch`; the errors must also belong to the requested tier."""
        severity, tier = error_severity(self.criteria, generated.counts), self.tiers[request.tier]
        if not tier.contains(severity):
            return f"not of its tier: {severity:g}, not {tier.description}"
        return super().find_mismatch(request, generated)


class ErrorInjection(_CandidateTask):
    """Candidates with sampled errors, or none, half of them subtle (GREEN, A.4).

    Args:
        criteria: Criteria of the error counts.
        per_reference: Number of candidates per reference.
        seed: Seed of the sampled errors.

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
        """See `GenerationTask.build_requests`."""
        requests = []
        for group in groups:
            for number in range(self.per_reference):
                rng = Random(f"{self.seed}:{group.id}:{number}")
                errors = self._sample_errors(rng)
                messages = injection_messages(self.criteria, group.reference, errors, rng.random() < 0.5)
                request = GenerationRequest(
                    id=f"{group.id}-{number}",
                    group=group.id,
                    reference=group.reference,
                    required_errors=errors,
                    messages=messages,
                    seed=number,  # equal messages with different seeds are different requests
                )
                requests.append(request)
        return requests

    def _sample_errors(self, rng: Random) -> dict[str, float]:
        errors = dict.fromkeys(self.criteria.tags, 0.0)
        for _ in range(rng.randint(0, MAX_INJECTED_ERRORS)):
            criterion = rng.choice(self.criteria.criteria)
            if criterion.kind == "count" or not errors[criterion.tag]:
                errors[criterion.tag] += 1
        return errors


class ErrorAnalysisTask(GenerationTask):
    """Errors of given candidates, an explanation, and the findings that match (GREEN, A.1)."""

    name = "analysis"
    sections = ("explanation", "errors", "matched")

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `GenerationTask.build_requests`."""
        return [
            replace(request, messages=analysis_messages(self.criteria, request.reference, request.candidate or ""))
            for request in _pair_requests(groups, self.criteria)
        ]

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `GenerationTask.find_mismatch`; matched findings must also be quotes of the reference."""
        for finding in generated.matched:
            if normalize_for_comparison(finding) not in normalize_for_comparison(request.reference):
                return f"matched finding not in the reference: {finding[:80]}"
        return super().find_mismatch(request, generated)


class ReasoningTask(GenerationTask):
    """Reasoning from given candidates to the count of every criterion, or to known counts (RadReason)."""

    name = "reasoning"
    sections = ("reasoning", "errors")

    def build_requests(self, groups: Sequence[ReportGroup]) -> list[GenerationRequest]:
        """See `GenerationTask.build_requests`."""
        return [
            replace(
                request,
                messages=reasoning_messages(
                    self.criteria, request.reference, request.candidate or "", request.required_errors
                ),
            )
            for request in _pair_requests(groups, self.criteria)
        ]


def _pair_requests(groups: Sequence[ReportGroup], criteria: Criteria) -> list[GenerationRequest]:
    """Return requests for the pairs of groups, with their errors if they are known by the same criteria."""
    tags = set(criteria.tags)
    return [
        GenerationRequest(
            id=f"{group.id}-{number}",
            group=group.id,
            reference=group.reference,
            candidate=entry.text,
            required_errors=dict(entry.errors) if entry.errors is not None and set(entry.errors) == tags else None,
        )
        for group in groups
        for number, entry in enumerate(group.candidates)
    ]


TASKS: dict[str, type[GenerationTask]] = {
    task.name: task for task in (TieredCandidates, ErrorInjection, ErrorAnalysisTask, ReasoningTask)
}
"""Tasks by name."""
