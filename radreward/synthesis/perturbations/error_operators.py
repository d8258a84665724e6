"""Random errors: one operator for each of the six RadCliQ types.

An operator returns an edited report, or None if it does not apply. `count_errors` counts its errors from the facts
before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.perturbations.fact_edits import mirrored_location, with_other_change, with_other_severity
from radreward.synthesis.perturbations.report_edits import (
    can_replace_fact,
    has_unparsed_comparison,
    insert_facts,
    replace_fact,
)
from radreward.synthesis.perturbations.word_substitution import possibly_mentioned
from radreward.text.fact_differences import REPORTABLE_CHANGES
from radreward.text.fact_matching import is_included
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, MALPOSITIONED, is_related, remove_related
from radreward.text.locations import contains_location

_OTHER_TIPS = MALPOSITIONED | {wrong: right for right, wrong in MALPOSITIONED.items()}
"""Tubes → the same tubes with their tip in a wrong place, and the reverse."""
_SIZE_SHARE = 0.5
"""Share of severity errors that change a size, if the report states one."""
_ErrorOperator = Callable[[AnnotatedReport, Random], AnnotatedReport | None]


def add_false_finding(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a finding that the report does not have."""
    return add_false_findings(report, 1, rng)


def add_false_findings(report: AnnotatedReport, count: int, rng: Random) -> AnnotatedReport | None:
    """State findings that the report does not have, in one sentence."""
    stated = {fact.finding for fact in report.facts if fact.positive or fact.change}
    excluded = possibly_mentioned(report).union(*map(_related_findings, stated))
    options = [key for key in GENERATED_FINDINGS if key not in excluded]
    keys = remove_related(sample_findings(rng, options, count)) if options else []
    if len(keys) < count:
        return None
    facts = [sample_fact(key, rng)._replace(change=None) for key in keys]
    if count > 1:
        facts = [fact._replace(polarity="present") for fact in facts]
    return insert_facts(report, facts, rng)


@cache
def _related_findings(key: str) -> frozenset[str]:
    return frozenset(other for other in GENERATED_FINDINGS if is_related(key, other))


def _omit_finding(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Omit a finding, with its signs and interpretations."""
    fact = _choose_fact(report, rng, lambda fact: can_replace_fact(report, fact, None))
    if fact is None:
        return None
    same = [other for other in report.facts if other.positive and other.finding != fact.finding]
    same = [other for other in same if is_included(other, fact) or is_included(fact, other)]
    edited: AnnotatedReport | None = report
    for stated in (fact, *same):
        edited = replace_fact(edited, stated, None, rng) if edited else None
    return edited


def _change_location(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a finding at another location, most often on the other side; or move the tip of a tube."""
    fact = _choose_fact(report, rng, lambda fact: bool(fact.location and _relocated(report, fact)))
    if fact is None:
        return None
    relocated = _relocated(report, fact)
    mirrored = fact._replace(location=mirrored_location(fact))
    new = mirrored if mirrored in relocated and rng.random() < 0.6 else rng.choice(relocated)
    return replace_fact(report, fact, new, rng)


def change_severity(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a finding with another severity or size."""
    edited = None
    if rng.random() < _SIZE_SHARE:
        edited = _restate_one_fact(report, rng, lambda fact: with_other_severity(fact) if fact.size else [])
    return edited or _restate_one_fact(report, rng, with_other_severity)


def _change_comparison(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a change of a finding that the report does not compare, or another change than it states."""
    if has_unparsed_comparison(report):
        return None
    return _restate_one_fact(report, rng, with_other_change)


def _omit_comparison(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Omit the change of a finding, but not the finding."""
    if has_unparsed_comparison(report):
        return None

    def is_omissible(fact: Fact) -> bool:
        return fact.change in REPORTABLE_CHANGES and can_replace_fact(report, fact, fact._replace(change=None))

    fact = _choose_fact(report, rng, is_omissible)
    return replace_fact(report, fact, fact._replace(change=None), rng) if fact else None


ERROR_OPERATORS: dict[str, _ErrorOperator] = {
    "false_prediction": add_false_finding,
    "omission": _omit_finding,
    "incorrect_location": _change_location,
    "incorrect_severity": change_severity,
    "incorrect_comparison": _change_comparison,
    "omission_of_comparison": _omit_comparison,
}
"""Operators by the tag of the error that they make."""


def _choose_fact(report: AnnotatedReport, rng: Random, is_editable: Callable[[Fact], bool]) -> Fact | None:
    options = [fact for fact in report.facts if fact.positive and is_editable(fact)]
    return rng.choice(options) if options else None


def _restate_one_fact(
    report: AnnotatedReport, rng: Random, options: Callable[[Fact], list[Fact]]
) -> AnnotatedReport | None:
    """State one random fact as one of its options that the report allows."""

    def allowed(fact: Fact) -> list[Fact]:
        return [other for other in options(fact) if can_replace_fact(report, fact, other)]

    fact = _choose_fact(report, rng, lambda fact: bool(allowed(fact)))
    return replace_fact(report, fact, rng.choice(allowed(fact)), rng) if fact else None


def _relocated(report: AnnotatedReport, fact: Fact) -> list[Fact]:
    """Return a fact with other locations: they contradict its own, and no fact of the same finding has them."""
    stated = {other.location for other in report.facts if other.finding == fact.finding}
    relocated = [
        fact._replace(location=location)
        for location in FINDINGS[fact.finding].locations
        if location not in stated and not contains_location(location, fact.location or "")
    ]
    other_tip = _OTHER_TIPS.get(fact.finding)
    if other_tip and not fact.change and all(other.finding != other_tip for other in report.facts):
        relocated += [Fact(other_tip, fact.polarity, location) for location in FINDINGS[other_tip].locations]
    return [other for other in relocated if can_replace_fact(report, fact, other)]
