"""Candidates whose counted errors lie in a tier."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.synthesis.candidates import (
    MRSCORE_TAGS,
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    add_errors,
    add_language_errors,
    judge_draft,
    max_natural_errors,
)
from radreward.synthesis.error_counting import ERROR_TAGS
from radreward.synthesis.tiers import TIER_ERRORS, Tier, is_weighted, severity_tiers
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed
from radreward.types import Candidate, ReportGroup

MAX_DRAFTS = 12
"""Number of candidates drafted for a tier."""
MAX_ADDED_ERRORS = 16
"""Number of errors added to a draft that has too few."""
NUM_TIERS = len(TIER_ERRORS)
OPEN_TIER = NUM_TIERS
"""A candidate with any number of errors: a report of another patient can have more than six."""


class TieredCandidate(NamedTuple):
    """A candidate and its tier."""

    candidate: Candidate
    tier: str
    """Name of the requested tier, or open."""
    in_tier: bool
    """True if the counted errors lie in the tier."""


class DraftedGroup(NamedTuple):
    """A group, and how its candidates were made."""

    group: ReportGroup
    drafts: tuple[TieredCandidate, ...]
    """One per candidate."""
    is_limited: bool
    """True if the reference does not allow every tier."""


class TieredWriter:
    """Writer of candidates for one reference: a draft gets more errors, or is replaced, until it is in its tier.

    A short reference, or one that is not completely parsed, gets as many errors as it allows, see `is_limited`.

    Args:
        criteria: Criteria of the errors; if all are binary, the tiers are ranges of points.
        reference: The reference.
        draft: Drafts a candidate of a tier, 0 for good, 1 for fair, 2 for bad.
        judges_language: Add errors of grammar, terminology and history to candidates.
    """

    def __init__(
        self,
        criteria: Criteria,
        reference: AnnotatedReport,
        draft: Callable[[int, Random], CandidateDraft],
        judges_language: bool,
    ) -> None:
        self.criteria, self.reference, self.draft, self.judges_language = criteria, reference, draft, judges_language
        self.tiers = severity_tiers(criteria)
        self.judges_mrscore = bool(MRSCORE_TAGS & set(criteria.tags))
        self.is_limited = is_limited(reference)

    def write(self, tier_index: int, rng: Random) -> TieredCandidate:
        """Return a candidate of a tier, or of `OPEN_TIER`; the closest draft if none is in the tier."""
        if tier_index == OPEN_TIER:
            return TieredCandidate(self._judge(self._draft(NUM_TIERS - 1, rng))[0], "open", True)
        tier = self.tiers[min(tier_index, len(self.tiers) - 1)]
        best: tuple[float, Candidate] | None = None
        for _ in range(MAX_DRAFTS):
            candidate, distance = self._write_draft(tier_index, tier, rng)
            if best is None or distance < best[0]:
                best = distance, candidate
            if not distance or self.is_limited:
                break
        if best is None:
            raise AssertionError("MAX_DRAFTS is 0")
        return TieredCandidate(best[1], tier.name, not best[0])

    def _write_draft(self, tier_index: int, tier: Tier, rng: Random) -> tuple[Candidate, float]:
        """Return a draft with errors added up to its tier, and its distance from the tier."""
        draft = self._draft(tier_index, rng)
        candidate, severity = self._judge(draft)
        target = min(tier.min_severity, max_natural_errors(self.reference)) if self.is_limited else tier.min_severity
        for _ in range(MAX_ADDED_ERRORS):
            if severity > target or tier.contains(severity) or (self.is_limited and severity == target):
                break
            draft = draft._replace(report=add_errors(draft.report, 1, rng))
            candidate, severity = self._judge(draft)
        distance = 0.0 if tier.contains(severity) else abs(severity - tier.min_severity) or 1.0
        return candidate, distance

    def _draft(self, tier_index: int, rng: Random) -> CandidateDraft:
        draft = self.draft(tier_index, rng)
        return add_language_errors(draft, rng) if self.judges_language else draft

    def _judge(self, draft: CandidateDraft) -> tuple[Candidate, float]:
        """Return the candidate of a draft and its severity: errors of RadCliQ, or points lost."""
        judgement = judge_draft(self.reference, draft, self.judges_mrscore)
        candidate = judgement.candidate(self.reference, draft, self.criteria)
        if is_weighted(self.criteria):
            return candidate, self.criteria.weighted_errors(candidate.errors or {})
        return candidate, sum(judgement.errors[tag] for tag in ERROR_TAGS)


def is_limited(reference: AnnotatedReport) -> bool:
    """Return True if a reference is too short for every tier, or not completely parsed."""
    return len(reference.sentences) <= SHORT_REPORT_SENTENCES or not is_fully_parsed(reference)
