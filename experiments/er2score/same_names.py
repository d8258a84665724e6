"""Candidates that state a finding of the reference under its own name or not at all, for the study of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Literal

from radreward.synthesis import CandidateWriter
from radreward.synthesis.candidate_writer import GroupRequest, Reference, WrittenCandidate, judge_candidates
from radreward.synthesis.candidates import CandidateDraft
from radreward.synthesis.contrast_candidates import draft_contrast
from radreward.synthesis.graded_candidates import draft_graded
from radreward.text.facts import AnnotatedReport
from radreward.text.findings import can_mean_same

Kind = Literal["graded", "contrast"]
_DRAFTS: dict[Kind, Callable[[AnnotatedReport, int, Random], list[CandidateDraft]]] = {
    "graded": draft_graded,
    "contrast": draft_contrast,
}


class SameNames(CandidateWriter):
    """Writer of graded or contrast candidates, without those of which one has a sign or another name for a finding.

    Args:
        kind: The candidates: "graded" or "contrast".
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        for reference in request.repeated_references():
            drafts = _DRAFTS[self.kind](reference.report, request.num_candidates, rng)
            if drafts and not any(has_other_name(reference.report, draft.report) for draft in drafts):
                yield reference, judge_candidates(self.kind, reference, drafts, request.criteria)


def has_other_name(reference: AnnotatedReport, candidate: AnnotatedReport) -> bool:
    """Return True if a candidate states a finding of the reference as a sign, or under a vaguer or narrower name."""
    names = {fact.finding for fact in reference.facts if fact.is_stated}
    others = {fact.finding for fact in candidate.facts if fact.is_stated} - names
    return any(can_mean_same(name, other) for name in names for other in others)
