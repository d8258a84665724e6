"""Base class of candidate strategies, and their inputs: the reference and the request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from radreward.criteria import Criteria
from radreward.synthesis.candidates import (
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    ReportSource,
    judge_draft,
    random_report_source,
    similar_report_source,
)
from radreward.synthesis.report_reader import ReportTexts, read_reports
from radreward.synthesis.report_styles import StyleSampler
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed
from radreward.types import Candidate

_LANGUAGE_TAGS = frozenset({"grammar", "medical_terminology", "clinical_history"})
_MAX_CANDIDATE_TRIES = 20
"""Number of candidate sets written for a reference until their totals differ."""


def judges_language(criteria: Criteria) -> bool:
    """Return True if criteria judge grammar, terminology or history."""
    return bool(_LANGUAGE_TAGS & set(criteria.tags))


def allows_no_tiers(report: AnnotatedReport) -> bool:
    """Return True if a report is too short for every number of errors, or not completely parsed."""
    return len(report.sentences) <= SHORT_REPORT_SENTENCES or not is_fully_parsed(report)


class Reference(NamedTuple):
    """A reference, and samplers of other reports that can be its candidates."""

    report: AnnotatedReport
    sample_other: ReportSource
    """Samples reports of any other patient."""
    sample_neighbor: ReportSource
    """Samples reports of patients with similar findings."""
    sample_style: StyleSampler
    """Samples the style of a rewritten candidate."""
    generated: AnnotatedReport | None = None
    """Output of a report generator for the same study, if known."""

    @classmethod
    def among_generated(cls, report: AnnotatedReport, sample_style: StyleSampler) -> Reference:
        """Return a reference with samplers of generated reports of a style."""
        other, neighbor = random_report_source(sample_style), similar_report_source(report, sample_style)
        return cls(report, other, neighbor, sample_style)

    @property
    def is_limited(self) -> bool:
        """True if the report is too short for every number of errors, or not completely parsed."""
        return allows_no_tiers(self.report)


class GroupRequest(NamedTuple):
    """A group that needs candidates."""

    criteria: Criteria
    number: int
    """Number of the group, from 0."""
    num_candidates: int
    references: Iterator[Reference]
    """References to try, sampled one by one; a given report repeats."""

    def repeated_references(self) -> Iterator[Reference]:
        """Yield each reference several times, once per set of candidates."""
        for reference in self.references:
            for _ in range(_MAX_CANDIDATE_TRIES):
                yield reference


class WrittenCandidate(NamedTuple):
    """A candidate and its tier."""

    candidate: Candidate
    tier: str
    """Name of the requested tier, or of the strategy."""
    outcome: Literal["in tier", "outside"]
    is_limited: bool = False
    """True if the reference is too short for every tier, or not completely parsed, see `Reference.is_limited`."""
    reached_tier: str | None = None
    """Name of the tier in which the candidate is; None between tiers, and in strategies without tiers."""


class CandidateWriter(ABC):
    """A strategy that writes the candidates of a reference.

    Subclasses: `TierWriter`, `ProfileWriter`, `GreenPairingWriter`, `GradedWriter`, `ContrastWriter`, or
    your own.
    """

    @abstractmethod
    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """Yield pairs of a reference of the request and its candidates.

        Called once per group. The generator takes the first pair with candidates of different totals.

        Args:
            request: The group.
            rng: Source of randomness of the group.
        """

    def read_reports(self, path: Path, text_column: str | None) -> ReportTexts:
        """Read the reports of a file that can be references; all by default, see `read_reports`."""
        return read_reports(path, text_column)


def judge_candidates(
    kind: str, reference: Reference, drafts: Iterable[CandidateDraft], criteria: Criteria
) -> list[WrittenCandidate]:
    """Return drafts with their errors as candidates of a strategy without tiers."""
    return [
        WrittenCandidate(
            judge_draft(reference.report, draft).candidate(reference.report, draft, criteria),
            kind,
            "in tier",
            reference.is_limited,
        )
        for draft in drafts
    ]
