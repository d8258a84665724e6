"""Candidates in tiers: good, fair and bad ones, with error counts within the bounds of the tier."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal

from radreward.criteria.error_counting import ERROR_TAGS
from radreward.errors import InputError
from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    allows_no_tiers,
    judges_language,
)
from radreward.synthesis.candidates import (
    MRSCORE_TAGS,
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    DraftJudgement,
    add_errors,
    add_language_errors,
    edit_candidate,
    judge_draft,
    rewrite_candidate,
)
from radreward.synthesis.grammar import render_report
from radreward.synthesis.perturbations.report_edits import drop_and_shuffle
from radreward.synthesis.report_reader import ReportTexts
from radreward.synthesis.tiers import TIER_ERRORS, Tier, is_weighted, severity_tiers
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed, parse_report

logger = logging.getLogger(__name__)
MAX_DRAFTS = 12
"""Maximum number of drafts per candidate."""
_MAX_ADDED_ERRORS = 16
"""Maximum number of errors added to a draft that has too few."""
_NUM_TIERS = len(TIER_ERRORS)
_OPEN_SHARE = 0.3
"""Share of bad candidates with any number of errors; a report of another patient can have more than six."""
_GOOD_ERROR_SHARES = (6, 2, 2)
"""Ratio of good candidates with no, one and two errors; models must learn that other words are no error."""


class TierWriter(CandidateWriter):
    """Writer of candidates of alternating tiers; adds errors to a draft or replaces it until it is in its tier.

    If all criteria are binary, the tiers are ranges of points. Candidates of a limited reference have as many errors as
    it allows, see `Reference.is_limited`.

    Args:
        requires_all: Leave out limited references, and candidates of a reference that are not in every tier.
    """

    def __init__(self, requires_all: bool = False) -> None:
        self.requires_all = requires_all

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        tiers = severity_tiers(request.criteria)
        if self.requires_all and request.num_candidates < len(tiers):
            raise InputError(f"Expected at least {len(tiers)} candidates per reference, one per tier.")
        for reference in request.repeated_references():
            if self.requires_all and reference.is_limited:
                continue
            candidates = [
                _write_candidate(request, reference, tiers, _sample_tier(number, rng), rng)
                for number in range(request.num_candidates)
            ]
            rng.shuffle(candidates)
            if not self.requires_all or {tier.name for tier in tiers} <= {entry.reached_tier for entry in candidates}:
                yield reference, candidates

    def read_reports(self, path: Path, text_column: str | None) -> ReportTexts:
        """Read the reports of a file; with `requires_all`, those that allow every tier."""
        reports = super().read_reports(path, text_column)
        if not self.requires_all:
            return reports
        texts = [text for text in reports.texts if not allows_no_tiers(parse_report(text))]
        if len(texts) < 2:
            raise InputError(
                f"{path}: Expected at least two reports that are completely parsed and long enough for every tier but "
                f"got {len(texts)}."
            )
        logger.warning("%s: left out %d reports that do not allow every tier.", path, len(reports.texts) - len(texts))
        return reports._replace(texts=texts)


def _sample_tier(number: int, rng: Random) -> int | None:
    """Return the tier of a candidate; the first three have one of each. Sometimes None instead of the bad tier."""
    tier = (number + rng.randrange(_NUM_TIERS)) % _NUM_TIERS if number >= _NUM_TIERS else number
    return None if tier == _NUM_TIERS - 1 and rng.random() < _OPEN_SHARE else tier


def _write_candidate(
    request: GroupRequest, reference: Reference, tiers: Sequence[Tier], tier_index: int | None, rng: Random
) -> WrittenCandidate:
    """Return a candidate of a tier, or the closest draft if none fits; any draft if `tier_index` is None."""
    if tier_index is None:
        draft = _draft(request, reference, _NUM_TIERS - 1, rng)
        judgement, severity = _judge(request, reference, draft)
        candidate = judgement.candidate(reference.report, draft, request.criteria)
        return WrittenCandidate(candidate, "open", "in tier", reference.is_limited, _tier_of(severity, tiers))
    tier = tiers[min(tier_index, len(tiers) - 1)]
    target = tier.min_severity
    if reference.is_limited:
        target = min(target, _max_natural_errors(reference.report))
    drafts: list[tuple[float, CandidateDraft, DraftJudgement, float]] = []
    for _ in range(MAX_DRAFTS):
        draft = _draft(request, reference, tier_index, rng)
        judgement, severity = _judge(request, reference, draft)
        for _ in range(_MAX_ADDED_ERRORS):
            if severity > target or tier.contains(severity) or (reference.is_limited and severity == target):
                break
            draft = draft._replace(report=add_errors(draft.report, 1, rng))
            judgement, severity = _judge(request, reference, draft)
        distance = 0.0 if tier.contains(severity) else abs(severity - tier.min_severity) or 1.0
        drafts.append((distance, draft, judgement, severity))
        if not distance or reference.is_limited:
            break
    distance, draft, judgement, severity = min(drafts, key=lambda entry: entry[0])
    candidate = judgement.candidate(reference.report, draft, request.criteria)  # errors are located in this draft only
    outcome: Literal["in tier", "outside"] = "outside" if distance else "in tier"
    return WrittenCandidate(candidate, tier.name, outcome, reference.is_limited, _tier_of(severity, tiers))


def _tier_of(severity: float, tiers: Sequence[Tier]) -> str | None:
    return next((tier.name for tier in tiers if tier.contains(severity)), None)


def _draft(request: GroupRequest, reference: Reference, tier_index: int, rng: Random) -> CandidateDraft:
    draft = draft_candidate(reference, tier_index, rng)
    return add_language_errors(draft, rng) if judges_language(request.criteria) else draft


def _judge(request: GroupRequest, reference: Reference, draft: CandidateDraft) -> tuple[DraftJudgement, float]:
    """Return the errors of a draft and its severity: errors of RadCliQ, or points lost."""
    judgement = judge_draft(reference.report, draft, bool(MRSCORE_TAGS & set(request.criteria.tags)))
    if is_weighted(request.criteria):
        return judgement, request.criteria.weighted_errors(judgement.criteria_errors(request.criteria))
    return judgement, sum(judgement.errors[tag] for tag in ERROR_TAGS)


def draft_candidate(reference: Reference, tier: int, rng: Random) -> CandidateDraft:
    """Return one candidate with about the number of errors of a tier, not yet checked.

    A reference that is not completely parsed is only edited: compared with another report, its unparsed text could hide
    errors.

    Args:
        reference: The reference.
        tier: 0 for good, 1 for fair, 2 for bad.
        rng: Source of randomness.
    """
    report = reference.report
    num_errors = rng.randint(*TIER_ERRORS[tier]) if tier else rng.choices((0, 1, 2), _GOOD_ERROR_SHARES)[0]
    num_errors = min(num_errors, _max_natural_errors(report))
    kind = rng.random()
    if not is_fully_parsed(report):
        return edit_candidate(report, num_errors, rng)
    if tier == 2 and kind < 0.35:
        return CandidateDraft(reference.sample_other(rng), "random")
    if tier == 1 and kind < 0.35:
        return CandidateDraft(reference.sample_neighbor(rng), "neighbour")
    if tier == 1 and kind < 0.45 and len(report.sentences) > 2:
        return CandidateDraft(drop_and_shuffle(report, rng), "removed and shuffled")
    if tier == 2 and kind < 0.45:
        return CandidateDraft(render_report((), rng, reference.sample_style(rng)), "normal")
    if kind > (0.7 if tier else 0.5):
        return rewrite_candidate(report, num_errors, reference.sample_style, rng)
    return edit_candidate(report, num_errors, rng)


def _max_natural_errors(report: AnnotatedReport) -> int:
    """Return the maximum number of requested errors; it is small if the reference is short."""
    num_sentences = len(report.sentences)
    return num_sentences // 2 + 1 if num_sentences <= SHORT_REPORT_SENTENCES else sum(TIER_ERRORS[-1])
