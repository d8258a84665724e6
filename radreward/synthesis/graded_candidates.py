"""Candidates that state one finding of the reference correctly, partly correctly, or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    judge_candidates,
)
from radreward.synthesis.candidates import CandidateDraft, add_errors, restate_details, with_prose
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.perturbations.fact_edits import (
    mirrored_location,
    more_general_facts,
    more_specific_facts,
    sides_of,
    with_other_certainty,
    with_other_severity,
)
from radreward.synthesis.perturbations.report_edits import can_replace_fact, paraphrase, replace_fact
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, can_mean_same
from radreward.text.significance import significance_level, significance_weight

_MAX_OTHER_ERRORS = 2
"""Maximum number of other errors, which all candidates of a reference share."""


def _other_side(fact: Fact) -> list[Fact]:
    location = mirrored_location(fact)
    return [fact._replace(location=location)] if location else []


def _other_certainty(fact: Fact) -> list[Fact]:
    """Return an urgent fact with another certainty; for other facts, certainty does not change care."""
    return with_other_certainty(fact) if significance_level(fact) == "urgent" else []


_SAME_REGION_SHARE = 0.6
"""Share of the findings that replace one of the same region."""
PARTLY_RIGHT: dict[str, Callable[[Fact], list[Fact]]] = {
    "other severity": with_other_severity,
    "one of two sides": lambda fact: list(sides_of(fact)),
    "other side": _other_side,
    "more general name": lambda fact: list(more_general_facts(fact)),
    "more specific name": more_specific_facts,
    "other certainty": _other_certainty,
}
"""Ways to state a finding partly correctly."""


class GradedWriter(CandidateWriter):
    """Writer of candidates that state one finding of the reference correctly, partly correctly, or not."""

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        for reference in request.repeated_references():
            drafts = draft_graded(reference.report, request.num_candidates, rng)
            yield reference, judge_candidates("graded", reference, drafts, request.criteria)


def unrelated_fact(fact: Fact, report: AnnotatedReport, rng: Random) -> Fact:
    """Return a finding that cannot mean one of the report, mostly of the same region, at the same place if possible."""
    stated = {other.finding for other in (fact, *report.facts)}
    options = [key for key in GENERATED_FINDINGS if not any(can_mean_same(key, name) for name in stated)]
    near = [key for key in options if FINDINGS[key].region == FINDINGS[fact.finding].region]
    other = sample_fact(
        sample_findings(rng, near if near and rng.random() < _SAME_REGION_SHARE else options, 1)[0], rng
    )
    return other._replace(
        polarity="present",
        location=fact.location if fact.location in FINDINGS[other.finding].locations else other.location,
        change=None,
    )


def draft_graded(reference: AnnotatedReport, count: int, rng: Random) -> list[CandidateDraft]:
    """Return candidates with one finding correct, partly correct, omitted, and replaced by another, in random order.

    All other errors are the same. Of three candidates, the third omits or replaces the finding. Candidates beyond these
    four have one more error each.

    Args:
        reference: The reference.
        count: Number of candidates.
        rng: Source of randomness.

    Returns:
        The candidates; none if no significant finding of the reference can be stated partly correctly.
    """
    base = add_errors(restate_details(reference, rng), rng.randint(0, _MAX_OTHER_ERRORS), rng)
    stated = [fact for fact in reference.facts if significance_weight(fact) and fact in base.facts]
    ways = ([(fact, partly) for fact in stated for partly in vary(fact)] for vary in PARTLY_RIGHT.values())
    editable = ([steps for steps in way if can_replace_fact(base, *steps)] for way in ways)
    options = [way for way in editable if way]
    if not options:
        return []
    fact, partly = rng.choice(rng.choice(options))
    worse = rng.sample([None, unrelated_fact(fact, base, rng)], k=2)
    edits = (
        replace_fact(base, fact, new, rng)
        for new in (partly, *worse)
        if new is None or can_replace_fact(base, fact, new)
    )
    reports = [base, *(report for report in edits if report)][:count]
    while len(reports) < count:
        reports.append(add_errors(rng.choice(reports), 1, rng))
    share = rng.choice((0.0, 0.3, 1.0))
    return [
        CandidateDraft(with_prose(paraphrase(report, rng, share), rng), "graded")
        for report in rng.sample(reports, k=count)
    ]
