"""Generation tasks: candidates in tiers, candidates with given errors, analyses of pairs, reasons for counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from random import Random
from typing import ClassVar, NamedTuple

from radreward.criteria import Criteria
from radreward.llm.messages import Message
from radreward.synthesis.llm.parser import GeneratedReport, normalize_for_comparison
from radreward.synthesis.llm.prompts import JUDGE, MAKE, REPHRASE, task_messages
from radreward.synthesis.tiers import error_severity, severity_tiers
from radreward.types import ReportGroup

_MAX_INJECTED_ERRORS = 4
"""Maximum number of errors of a candidate with given errors."""


class GenerationRequest(NamedTuple):
    """One request for a report or an analysis."""

    id: str
    group: str
    """Id of the reference; all candidates of a reference are one group."""
    reference: str
    candidate: str | None
    """The report to judge, or None if one is requested."""
    messages: tuple[Message, ...]
    required_errors: dict[str, float] | None = None
    """The errors that the candidate must have, or is known to have."""
    tier: str = ""
    """The requested tier, if any."""
    seed: int = 0


class GenerationTask(ABC):
    """A kind of request about groups of reports, and the checks of its answers.

    Args:
        criteria: Criteria of the error counts.
    """

    name: ClassVar[str]
    sections: ClassVar[tuple[str, ...]]
    """Sections that an answer must have in addition to counts."""

    def __init__(self, criteria: Criteria) -> None:
        self.criteria = criteria

    @abstractmethod
    def build_requests(self, group: ReportGroup) -> Iterator[GenerationRequest]:
        """Yield the requests about a group."""

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """Return the reason why a parsed answer does not match its request (kind and detail), or None."""
        if request.required_errors is None:
            return None
        for tag in self.criteria.tags:
            required = request.required_errors[tag]
            if generated.counts[tag] != required:
                return f"other errors than requested: {tag}: {generated.counts[tag]}, not {required:g}"
        return None

    def _request(
        self, group: ReportGroup, suffix: object, task: str, instruction: str, candidate: str | None = None
    ) -> GenerationRequest:
        messages = task_messages(task, self.criteria, self.sections, group.reference, candidate, instruction)
        return GenerationRequest(f"{group.id}-{suffix}", group.id, group.reference, candidate, messages)

    def _list_errors(self, errors: Mapping[str, float], tags: tuple[str, ...]) -> str:
        return ", ".join(f"{tag}: {errors[tag]:g}" for tag in tags)


class _CandidateTask(GenerationTask):
    sections = ("candidate", "errors")

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        if normalize_for_comparison(generated.candidate) == normalize_for_comparison(request.reference):
            return "a copy: the candidate is the reference"
        return super().find_mismatch(request, generated)


class TieredCandidates(_CandidateTask):
    """A good, a fair and a bad candidate per reference; the model chooses the errors (ER²Score, section 3.1).

    Args:
        criteria: Criteria of the error counts.

    Raises:
        InputError: If the criteria cannot separate tiers.
    """

    name = "tiers"

    def __init__(self, criteria: Criteria) -> None:
        super().__init__(criteria)
        self.tiers = {tier.name: tier for tier in severity_tiers(criteria)}

    def build_requests(self, group: ReportGroup) -> Iterator[GenerationRequest]:
        """See `GenerationTask.build_requests`."""
        for name, tier in self.tiers.items():
            instruction = (
                f"Write a candidate with {tier.description}. Choose errors of different criteria where you can."
            )
            yield self._request(group, name, MAKE, instruction)._replace(tier=name)

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `GenerationTask.find_mismatch`; the errors must also belong to the requested tier."""
        severity, tier = error_severity(self.criteria, generated.counts), self.tiers[request.tier]
        if not tier.contains(severity):
            return f"not of its tier: {severity:g}, not {tier.description}"
        return super().find_mismatch(request, generated)


class ErrorInjection(_CandidateTask):
    """Candidates with sampled numbers of errors, also none; in half of them, errors are subtle (GREEN, A.4).

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

    def build_requests(self, group: ReportGroup) -> Iterator[GenerationRequest]:
        """See `GenerationTask.build_requests`."""
        for number in range(self.per_reference):
            rng = Random(f"{self.seed}:{group.id}:{number}")
            errors = self._sample_errors(rng)
            request = self._request(group, number, *self._instruct(errors, is_subtle=rng.random() < 0.5))
            # Equal messages with different seeds are different requests.
            yield request._replace(required_errors=errors, seed=number)

    def _instruct(self, errors: Mapping[str, float], is_subtle: bool) -> tuple[str, str]:
        """Return the task and the instruction for exactly these errors, or for a paraphrase without errors."""
        task, instruction = REPHRASE, "Write a candidate without errors."
        if stated := tuple(tag for tag in self.criteria.tags if errors[tag]):
            task = MAKE
            instruction = f"Write a candidate with exactly these errors: {self._list_errors(errors, stated)}."
        subtle = " Be subtle: change a single word for an error where that is enough." if is_subtle else ""
        return task, instruction + subtle

    def _sample_errors(self, rng: Random) -> dict[str, float]:
        errors = dict.fromkeys(self.criteria.tags, 0.0)
        for _ in range(rng.randint(0, _MAX_INJECTED_ERRORS)):
            criterion = rng.choice(self.criteria.criteria)
            if criterion.kind == "count" or not errors[criterion.tag]:
                errors[criterion.tag] += 1
        return errors


class _JudgingTask(GenerationTask):
    def build_requests(self, group: ReportGroup) -> Iterator[GenerationRequest]:
        """Yield one request per pair of a group, with its errors if they are known by the same criteria."""
        for number, entry in enumerate(group.candidates):
            is_known = entry.errors is not None and set(entry.errors) == set(self.criteria.tags)
            known = dict(entry.errors) if entry.errors is not None and is_known else None
            request = self._request(group, number, JUDGE, self._instruction(known), entry.text)
            yield request._replace(required_errors=known)

    def _instruction(self, known_errors: Mapping[str, float] | None) -> str:
        return "Judge the candidate."


class ErrorAnalysisTask(_JudgingTask):
    """Errors of given candidates, an explanation, and the matched findings (GREEN, A.1)."""

    name = "analysis"
    sections = ("explanation", "errors", "matched")

    def find_mismatch(self, request: GenerationRequest, generated: GeneratedReport) -> str | None:
        """See `GenerationTask.find_mismatch`; matched findings must also be quotes of the reference."""
        for finding in generated.matched:
            if normalize_for_comparison(finding) not in normalize_for_comparison(request.reference):
                return f"matched finding not in the reference: {finding[:80]}"
        return super().find_mismatch(request, generated)


class ReasoningTask(_JudgingTask):
    """Reasoning that leads from a given candidate to the count of every criterion (RadReason)."""

    name = "reasoning"
    sections = ("reasoning", "errors")

    def _instruction(self, known_errors: Mapping[str, float] | None) -> str:
        if known_errors is None:
            return super()._instruction(None)
        counts = self._list_errors(known_errors, self.criteria.tags)
        return f"The numbers are known: {counts}. Judge the candidate so that your reasons lead to them."


TASKS: dict[str, type[GenerationTask]] = {
    task.name: task for task in (TieredCandidates, ErrorInjection, ErrorAnalysisTask, ReasoningTask)
}
"""Tasks by name."""
