"""What is written: candidates of tiers, candidates with chosen errors, analyses of pairs, reasons for counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.synthesis.llm.parser import Written, same_words
from radreward.synthesis.llm.prompts import Tier, ask_analysis, ask_errors, ask_reasoning, ask_tier, damage, tiers
from radreward.types import Message, ReportGroup

MOST_INJECTED = 4
"""Errors of a candidate whose errors are chosen for the writer."""


class Ask(NamedTuple):
    """One thing that is asked for."""

    id: str
    group: str
    """Of the reference: what is written for one reference is a group."""
    reference: str
    candidate: str | None
    """The report to be judged, or None where it is to be written."""
    wanted: dict[str, float] | None
    """The errors that it is to have, or is known to have."""
    tier: str
    """The tier that was asked for; empty where none was."""
    messages: tuple[Message, ...]
    seed: int = 0


class Task(ABC):
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
    def asks(self, groups: Sequence[ReportGroup]) -> list[Ask]:
        """What is asked about groups, those of a group one after the other."""

    def problem(self, ask: Ask, written: Written) -> str | None:
        """Why an answer that could be read is not what was asked for: a kind, a colon and what it is about."""
        if ask.wanted is None:
            return None
        for tag in self.criteria.tags:
            if written.counts[tag] != ask.wanted[tag]:
                return f"other errors than asked for: {tag}: {written.counts[tag]}, not {ask.wanted[tag]:g}"
        return None


class _Candidates(Task):
    sections = ("candidate", "errors")

    def problem(self, ask: Ask, written: Written) -> str | None:
        if same_words(written.candidate) == same_words(ask.reference):
            return "a copy: the candidate is the reference"
        return super().problem(ask, written)


class Tiers(_Candidates):
    """A good, a fair and a bad candidate for each reference, with the errors that the writer chose (ER²Score, 3.1).

    Args:
        criteria: By what errors are stated.

    Raises:
        InputError: If the criteria do not tell tiers apart.
    """

    name = "tiers"

    def __init__(self, criteria: Criteria) -> None:
        super().__init__(criteria)
        self.tiers: Mapping[str, Tier] = {tier.name: tier for tier in tiers(criteria)}

    def asks(self, groups: Sequence[ReportGroup]) -> list[Ask]:
        """See `Task.asks`."""
        return [
            Ask(
                f"{group.id}-{tier.name}",
                group.id,
                group.reference,
                None,
                None,
                tier.name,
                ask_tier(self.criteria, group.reference, tier),
            )
            for group in groups
            for tier in self.tiers.values()
        ]

    def problem(self, ask: Ask, written: Written) -> str | None:
        """See `Task.problem`: of its tier too."""
        found = damage(self.criteria, written.counts)
        if not self.tiers[ask.tier].holds(found):
            return f"not of its tier: {found:g} where {self.tiers[ask.tier].told} were asked for"
        return super().problem(ask, written)


class Injection(_Candidates):
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

    def asks(self, groups: Sequence[ReportGroup]) -> list[Ask]:
        """See `Task.asks`."""
        asks = []
        for group in groups:
            for number in range(self.per_reference):
                rng = Random(f"{self.seed}:{group.id}:{number}")
                wanted = self._drawn(rng)
                messages = ask_errors(self.criteria, group.reference, wanted, rng.random() < 0.5)
                # Two that ask for the same are two requests.
                asks.append(Ask(f"{group.id}-{number}", group.id, group.reference, None, wanted, "", messages, number))
        return asks

    def _drawn(self, rng: Random) -> dict[str, float]:
        wanted = dict.fromkeys(self.criteria.tags, 0.0)
        for _ in range(rng.randint(0, MOST_INJECTED)):
            criterion = rng.choice(self.criteria.criteria)
            if criterion.kind == "count" or not wanted[criterion.tag]:
                wanted[criterion.tag] += 1
        return wanted


class Analysis(Task):
    """The errors of given candidates, an explanation and the findings that match (GREEN, A.1)."""

    name = "analysis"
    sections = ("explanation", "errors", "matched")

    def asks(self, groups: Sequence[ReportGroup]) -> list[Ask]:
        """See `Task.asks`."""
        return [
            ask._replace(messages=ask_analysis(self.criteria, ask.reference, ask.candidate or ""))
            for ask in _pairs(groups, self.criteria)
        ]

    def problem(self, ask: Ask, written: Written) -> str | None:
        """See `Task.problem`: what matches must stand in the reference too."""
        for finding in written.matched:
            if same_words(finding) not in same_words(ask.reference):
                return f"matched finding not in the reference: {finding[:80]}"
        return super().problem(ask, written)


class Reasoning(Task):
    """The way from given candidates to the number of every criterion, or to numbers that are known (RadReason)."""

    name = "reasoning"
    sections = ("reasoning", "errors")

    def asks(self, groups: Sequence[ReportGroup]) -> list[Ask]:
        """See `Task.asks`."""
        return [
            ask._replace(messages=ask_reasoning(self.criteria, ask.reference, ask.candidate or "", ask.wanted))
            for ask in _pairs(groups, self.criteria)
        ]


def _pairs(groups: Sequence[ReportGroup], criteria: Criteria) -> list[Ask]:
    """The pairs of groups, with their errors where these are known by the same criteria."""
    tags = set(criteria.tags)
    return [
        Ask(
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


TASKS: dict[str, type[Task]] = {task.name: task for task in (Tiers, Injection, Analysis, Reasoning)}
"""By name."""
