"""Candidates for a reference: edited to a tier of quality, written anew, or somebody else's report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import drop_and_shuffle
from radreward.synthesis.error_counting import FALSE_PREDICTION, OMISSION, count_errors, to_radcliq_counts
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS, paraphrase
from radreward.synthesis.perturbations.language_errors import (
    inject_grammar_errors,
    inject_terminology_errors,
    mrscore_errors,
    replace_history,
)
from radreward.synthesis.report_styles import ReportStyle
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.report_parser import is_fully_parsed

TIER_ERRORS = ((0, 2), (3, 4), (5, 6))
"""Errors of a good, a fair and a bad candidate (ER²Score, section 3.1); fewer where there is little to say."""
SHORT_REPORT_SENTENCES = 4
"""Sentences of a report that says little."""
ALWAYS_APPLICABLE = (FALSE_PREDICTION, OMISSION)
"""Errors that can nearly always be made: the others would be rare if all had one chance."""


class CandidateDraft(NamedTuple):
    """A candidate before its errors are counted."""

    report: AnnotatedReport
    system: str
    has_grammar_errors: bool = False
    has_terminology_errors: bool = False


ReportSource = Callable[[Random], AnnotatedReport]
"""Where reports of other patients come from."""
StyleSampler = Callable[[Random], ReportStyle]
"""Draws the style of a report that is written anew."""


def edit_candidate(reference: AnnotatedReport, num_errors: int, rng: Random) -> CandidateDraft:
    """The reference with about so many errors made in it, a share of it said in other words."""
    report = reference
    tags = rng.sample(list(ERROR_OPERATORS), k=len(ERROR_OPERATORS))
    if rng.random() < 0.5:
        tags.sort(key=ALWAYS_APPLICABLE.__contains__)
    for number in range(num_errors):
        first = number % len(tags)
        for tag in tags[first:] + tags[:first]:
            if (changed := ERROR_OPERATORS[tag](report, rng)) is not None:
                report = changed
                break
    return CandidateDraft(paraphrase(report, rng, rng.choice((0.0, 0.3, 1.0, 1.0))), "edited")


def rewrite_candidate(
    reference: AnnotatedReport, num_errors: int, sample_style: StyleSampler, rng: Random
) -> CandidateDraft:
    """A report in a style of its own that states the facts of the reference, with about so many errors."""
    facts = edit_candidate(reference, num_errors, rng).report.facts
    style = sample_style(rng)
    if reference.has_headings:
        style = style._replace(layout="both", has_headings=True)
    return CandidateDraft(render_report(facts, rng, style), "rewritten")


def draft_candidate(
    reference: AnnotatedReport,
    tier: int,
    sample_other: ReportSource,
    sample_neighbor: ReportSource,
    sample_style: StyleSampler,
    rng: Random,
) -> CandidateDraft:
    """One candidate of a tier.

    A report that was not wholly read is only edited: beside another report, what was not read would go uncounted.

    Args:
        reference: What is to be judged against.
        tier: 0 for good, 1 for fair, 2 for bad.
        others: Gives reports of any other patient.
        neighbours: Gives reports of patients with like findings.
        styles: Draws the style of a candidate that is written anew.
        rng: Decides everything.
    """
    errors = min(rng.randint(*TIER_ERRORS[tier]), len(reference.sentences) // 2 + 1)
    kind = rng.random()
    if not is_fully_parsed(reference):
        return edit_candidate(reference, errors, rng)
    if tier == 2 and kind < 0.35:
        return CandidateDraft(sample_other(rng), "random")
    if tier == 1 and kind < 0.35:
        return CandidateDraft(sample_neighbor(rng), "neighbour")
    if tier == 1 and kind < 0.45 and len(reference.sentences) > 2:
        return CandidateDraft(drop_and_shuffle(reference, rng), "removed and shuffled")
    if tier == 2 and kind < 0.45:
        return CandidateDraft(render_report((), rng, sample_style(rng)), "normal")
    return (
        rewrite_candidate(reference, errors, sample_style, rng)
        if kind > 0.7
        else edit_candidate(reference, errors, rng)
    )


def add_language_errors(draft: CandidateDraft, rng: Random) -> CandidateDraft:
    """With errors that MRScore counts and RadCliQ does not."""
    if rng.random() < 0.3 and (changed := inject_grammar_errors(draft.report, rng)) is not None:
        draft = draft._replace(report=changed, has_grammar_errors=True)
    if rng.random() < 0.25 and (changed := inject_terminology_errors(draft.report, rng)) is not None:
        draft = draft._replace(report=changed, has_terminology_errors=True)
    if rng.random() < 0.3 and (changed := replace_history(draft.report, rng)) is not None:
        draft = draft._replace(report=changed)
    return draft


def count_all_errors(reference: AnnotatedReport, draft: CandidateDraft) -> dict[str, int]:
    """Errors of a candidate by every tag that synthesis knows."""
    counts = count_errors(reference.facts, draft.report.facts)
    return {
        **counts,
        **to_radcliq_counts(counts),
        **mrscore_errors(reference, draft.report, draft.has_grammar_errors, draft.has_terminology_errors),
    }


SUPPORTED_TAGS = frozenset(
    tag for criteria in (RadCliQCriteria(), RadCliQSignificanceCriteria(), MRScoreCriteria()) for tag in criteria.tags
)


def check_criteria(criteria: Criteria) -> None:
    """Refuse criteria that no operator can make errors for.

    Raises:
        InputError: If a tag is not one of RadCliQ, RadCliQSignificance and MRScore.
    """
    if unknown := [tag for tag in criteria.tags if tag not in SUPPORTED_TAGS]:
        raise InputError(
            f"criteria {criteria.name}: Expected criteria that synthesis can make errors for, but {unknown[0]!r} is "
            f"not one of {', '.join(sorted(SUPPORTED_TAGS))}."
        )


def select_errors(errors: Mapping[str, int], criteria: Criteria) -> dict[str, float]:
    """Those errors that the criteria ask for."""
    return {criterion.tag: float(errors[criterion.tag]) for criterion in criteria.criteria}


def random_report_source(sample_style: StyleSampler) -> ReportSource:
    """Reports of any patient, from the grammar."""

    def source(rng: Random) -> AnnotatedReport:
        style = sample_style(rng)
        return render_report(sample_facts(rng, style.max_findings, style.common_findings_only), rng, style)

    return source


def similar_report_source(reference: AnnotatedReport, sample_style: StyleSampler) -> ReportSource:
    """Reports of patients that share findings with the reference, from the grammar."""

    def source(rng: Random) -> AnnotatedReport:
        kept: list[Fact] = [fact for fact in reference.facts if fact.positive and rng.random() < 0.6]
        altered = [_vary_details(fact, rng) for fact in kept]
        taken = {fact.finding for fact in altered}
        style = sample_style(rng)
        new = [
            fact
            for fact in sample_facts(rng, style.max_findings, style.common_findings_only)
            if fact.finding not in taken
        ]
        return render_report([*altered, *rng.sample(new, k=min(len(new), rng.randint(0, 2)))], rng, style)

    return source


def _vary_details(fact: Fact, rng: Random) -> Fact:
    """The finding as another patient may have it."""
    return fact._replace(
        severity=fact.severity if rng.random() < 0.6 else None, change=fact.change if rng.random() < 0.3 else None
    )
