"""Drafts of candidates: the reference edited or rewritten, or a report of another patient; and their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import NamedTuple

from radreward.criteria import CrimsonCriteria, Criteria, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import (
    FALSE_PREDICTION,
    OMISSION,
    FactComparison,
    compare_facts,
    count_crimson_errors,
    tally_errors,
    to_radcliq_counts,
)
from radreward.errors import InputError
from radreward.synthesis.error_localization import locate_errors_of_facts
from radreward.synthesis.fact_sampling import sample_facts, sample_many_facts, with_doubts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS, add_false_findings
from radreward.synthesis.perturbations.language_errors import (
    inject_grammar_errors,
    inject_terminology_errors,
    mrscore_errors,
    replace_history,
)
from radreward.synthesis.perturbations.report_edits import (
    add_details,
    make_specific,
    make_vague,
    paraphrase,
    remeasure,
    restate_sides,
)
from radreward.synthesis.report_prose import add_prose
from radreward.synthesis.report_styles import PROSE_SHARE, FrequentChoiceRandom, ReportStyle, StyleSampler
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.report_parser import is_fully_parsed
from radreward.types import Candidate

SHORT_REPORT_SENTENCES = 4
"""Maximum number of sentences of a short report."""
_ALWAYS_APPLICABLE = (FALSE_PREDICTION, OMISSION)
"""Errors that nearly every report allows. In half of the candidates, the other errors are tried first."""
_MAX_LISTED_FINDINGS = 3
"""Maximum number of false findings in one sentence."""
_VAGUE_SHARE = 0.3
"""Share of the edited candidates with a vague finding; RadCliQ counts no error, but it is only partly right."""
_SPECIFIC_SHARE = 0.15
"""Share of the edited candidates with a kind of a finding, or what it shows, in place of the finding."""
_DETAILED_SHARE = 0.3
"""Share of the edited candidates with a detail that the reference does not state; this is no error."""
_OTHER_SIDES_SHARE = 0.3
"""Share of the candidates that state a bilateral finding as two sides, or two sides as bilateral, if possible."""
_REMEASURED_SHARE = 0.5
"""Share of the candidates with the size of another measurement, if the reference states a size."""
_SUPPORTED_TAGS = frozenset(
    tag
    for criteria in (RadCliQCriteria(), RadCliQSignificanceCriteria(), CrimsonCriteria(), MRScoreCriteria())
    for tag in criteria.tags
)
MRSCORE_TAGS = frozenset(MRScoreCriteria().tags)
ReportSource = Callable[[Random], AnnotatedReport]
"""Sampler of reports of other patients."""


class CandidateDraft(NamedTuple):
    """A candidate before its errors are counted."""

    report: AnnotatedReport
    system: str
    has_grammar_errors: bool = False
    has_terminology_errors: bool = False


def add_errors(report: AnnotatedReport, num_errors: int, rng: Random) -> AnnotatedReport:
    """Return a report with about `num_errors` more errors of alternating types, or some false findings at once."""
    num_false = rng.randint(2, num_errors) if num_errors > 2 and rng.random() < 0.3 else 0
    if num_false and (edited := add_false_findings(report, min(num_false, _MAX_LISTED_FINDINGS), rng)) is not None:
        report, num_errors = edited, num_errors - min(num_false, _MAX_LISTED_FINDINGS)
    tags = rng.sample(list(ERROR_OPERATORS), k=len(ERROR_OPERATORS))
    if rng.random() < 0.5:
        tags.sort(key=_ALWAYS_APPLICABLE.__contains__)
    for number in range(num_errors):
        first = number % len(tags)
        for tag in tags[first:] + tags[:first]:
            if (edited := ERROR_OPERATORS[tag](report, rng)) is not None:
                report = edited
                break
    return report


def restate_details(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Return a report in which sides and sizes may be stated in another, equally correct way."""
    if rng.random() < _OTHER_SIDES_SHARE:
        report = restate_sides(report, rng) or report
    if rng.random() < _REMEASURED_SHARE:
        report = remeasure(report, rng) or report
    return report


def edit_candidate(reference: AnnotatedReport, num_errors: int, rng: Random) -> CandidateDraft:
    """Return the reference with about `num_errors` errors, partly paraphrased."""
    report = add_errors(restate_details(reference, rng), num_errors, rng)
    if rng.random() < _DETAILED_SHARE:
        report = add_details(report, rng) or report
    named = rng.random()  # at most one finding has another name: two names of one may be unrelated
    if named < _VAGUE_SHARE:
        report = make_vague(report, rng) or report
    elif named < _VAGUE_SHARE + _SPECIFIC_SHARE:
        report = make_specific(report, rng) or report
    report = paraphrase(report, rng, rng.choice((0.0, 0.3, 1.0, 1.0)))
    return CandidateDraft(with_prose(report, rng), "edited")


def with_prose(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Return a completely parsed report of several sentences, perhaps with prose of report generators."""
    is_allowed = len(report.sentences) > 1 and not isinstance(rng, FrequentChoiceRandom)
    return add_prose(report, rng) if is_allowed and rng.random() < PROSE_SHARE and is_fully_parsed(report) else report


def rewrite_candidate(
    reference: AnnotatedReport, num_errors: int, sample_style: StyleSampler, rng: Random
) -> CandidateDraft:
    """Return a new report in another style with the facts of the reference and about `num_errors` errors."""
    facts = add_errors(restate_details(reference, rng), num_errors, rng).facts
    style = sample_style(rng)
    if reference.has_headings:
        style = replace(style, layout="both", has_headings=True)
    return CandidateDraft(render_report(facts, rng, style), "rewritten")


def add_language_errors(draft: CandidateDraft, rng: Random) -> CandidateDraft:
    """Return a draft, perhaps with errors that MRScore counts and RadCliQ does not."""
    if rng.random() < 0.3 and (edited := inject_grammar_errors(draft.report, rng)) is not None:
        draft = draft._replace(report=edited, has_grammar_errors=True)
    if rng.random() < 0.25 and (edited := inject_terminology_errors(draft.report, rng)) is not None:
        draft = draft._replace(report=edited, has_terminology_errors=True)
    if rng.random() < 0.3 and (edited := replace_history(draft.report, rng)) is not None:
        draft = draft._replace(report=edited)
    return draft


class DraftJudgement(NamedTuple):
    """Errors and matched findings of a draft."""

    errors: Mapping[str, int]
    """Counts by every supported tag."""
    comparison: FactComparison

    def criteria_errors(self, criteria: Criteria) -> dict[str, float]:
        """Return the errors that the criteria define."""
        return {tag: float(self.errors[tag]) for tag in criteria.tags}

    def candidate(self, reference: AnnotatedReport, draft: CandidateDraft, criteria: Criteria) -> Candidate:
        """Return the draft as a candidate with the errors that the criteria define."""
        errors = self.criteria_errors(criteria)
        located_errors = locate_errors_of_facts(self.comparison, reference, draft.report, criteria)
        return Candidate(draft.report.text, errors, draft.system, self.comparison.weights, located_errors)


def judge_draft(reference: AnnotatedReport, draft: CandidateDraft, judges_mrscore: bool = True) -> DraftJudgement:
    """Return the errors of a candidate by every supported tag, and the weights of its findings.

    Args:
        reference: The reference.
        draft: The candidate.
        judges_mrscore: Also count the errors of `MRScoreCriteria`, which takes longer.
    """
    comparison = compare_facts(reference.facts, draft.report.facts)
    counts = tally_errors(comparison.errors)
    errors = {**counts, **to_radcliq_counts(counts), **count_crimson_errors(comparison)}
    if judges_mrscore:
        errors |= mrscore_errors(reference, draft.report, draft.has_grammar_errors, draft.has_terminology_errors)
    return DraftJudgement(errors, comparison)


def check_criteria(criteria: Criteria) -> None:
    """Check that synthesis can make the errors of all criteria.

    Raises:
        InputError: If a tag is not one of RadCliQ, RadCliQ with significance, CRIMSON and MRScore.
    """
    if unknown := [tag for tag in criteria.tags if tag not in _SUPPORTED_TAGS]:
        known = [tag for tag in criteria.tags if tag in _SUPPORTED_TAGS]
        raise InputError(
            f"criteria {criteria.name}: Expected criteria whose errors synthesis can make, but it cannot make "
            f"{', '.join(unknown)} (of these criteria, only {', '.join(known) or 'none'}). Leave them out, use "
            f"--llm-task, or rename them to one of {', '.join(sorted(_SUPPORTED_TAGS))}."
        )


def random_report_source(sample_style: StyleSampler) -> ReportSource:
    """Return a sampler of generated reports of any patient."""

    def source(rng: Random) -> AnnotatedReport:
        style = sample_style(rng)
        return render_report(_sample_style_facts(style, rng), rng, style)

    return source


def similar_report_source(reference: AnnotatedReport, sample_style: StyleSampler) -> ReportSource:
    """Return a sampler of generated reports of patients that share findings with the reference."""

    def source(rng: Random) -> AnnotatedReport:
        shared = [fact for fact in reference.facts if fact.positive and rng.random() < 0.6]
        facts = [_vary_details(fact, rng) for fact in shared]
        stated = {fact.finding for fact in facts}
        style = sample_style(rng)
        sampled = _sample_style_facts(style, rng)
        new = [fact for fact in sampled if fact.finding not in stated]
        return render_report([*facts, *rng.sample(new, k=min(len(new), rng.randint(0, 2)))], rng, style)

    return source


def _sample_style_facts(style: ReportStyle, rng: Random) -> tuple[Fact, ...]:
    if style.num_findings is not None:
        facts = sample_many_facts(rng, style.num_findings)
        return with_doubts(facts, rng) if style.is_elaborate else facts
    return sample_facts(rng, style.max_findings, style.common_findings_only)


def _vary_details(fact: Fact, rng: Random) -> Fact:
    """Return the finding with fewer details, as another patient may have it."""
    severity = fact.severity if rng.random() < 0.6 else None
    return fact._replace(severity=severity, change=fact.change if rng.random() < 0.3 else None)
