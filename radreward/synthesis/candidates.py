"""Candidates for a reference: edited to a tier of quality, written anew, or somebody else's report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria, MRScore, RadCliQ, RadCliQSignificance
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import removed_and_shuffled
from radreward.synthesis.error_counting import FALSE, MISSING, count_errors, radcliq_errors
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render
from radreward.synthesis.perturbations.error_operators import OPERATORS, paraphrase
from radreward.synthesis.perturbations.language_errors import (
    bad_grammar,
    bad_terminology,
    mrscore_errors,
    other_history,
)
from radreward.synthesis.report_styles import Style
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.report_parser import wholly_read

TIERS = ((0, 2), (3, 4), (5, 6))
"""Errors of a good, a fair and a bad candidate (ER²Score, section 3.1); fewer where there is little to say."""
FEW = 4
"""Sentences of a report that says little."""
ALWAYS = (FALSE, MISSING)
"""Errors that can nearly always be made: the others would be rare if all had one chance."""


class Draft(NamedTuple):
    """A candidate before its errors are counted."""

    report: AnnotatedReport
    system: str
    grammar: bool = False
    terminology: bool = False


Source = Callable[[Random], AnnotatedReport]
"""Where reports of other patients come from."""
Styles = Callable[[Random], Style]
"""Draws the style of a report that is written anew."""


def edited(reference: AnnotatedReport, errors: int, rng: Random) -> Draft:
    """The reference with about so many errors made in it, a share of it said in other words."""
    report = reference
    tags = rng.sample(list(OPERATORS), k=len(OPERATORS))
    if rng.random() < 0.5:
        tags.sort(key=ALWAYS.__contains__)
    for number in range(errors):
        first = number % len(tags)
        for tag in tags[first:] + tags[:first]:
            if (changed := OPERATORS[tag](report, rng)) is not None:
                report = changed
                break
    return Draft(paraphrase(report, rng, rng.choice((0.0, 0.3, 1.0, 1.0))), "edited")


def rewritten(reference: AnnotatedReport, errors: int, styles: Styles, rng: Random) -> Draft:
    """A report in a style of its own that states the facts of the reference, with about so many errors."""
    facts = edited(reference, errors, rng).report.facts
    style = styles(rng)
    if reference.headed:
        style = style._replace(layout="both", headed=True)
    return Draft(render(facts, rng, style), "rewritten")


def draft(
    reference: AnnotatedReport, tier: int, others: Source, neighbours: Source, styles: Styles, rng: Random
) -> Draft:
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
    errors = min(rng.randint(*TIERS[tier]), len(reference.sentences) // 2 + 1)
    kind = rng.random()
    if not wholly_read(reference):
        return edited(reference, errors, rng)
    if tier == 2 and kind < 0.35:
        return Draft(others(rng), "random")
    if tier == 1 and kind < 0.35:
        return Draft(neighbours(rng), "neighbour")
    if tier == 1 and kind < 0.45 and len(reference.sentences) > 2:
        return Draft(removed_and_shuffled(reference, rng), "removed and shuffled")
    if tier == 2 and kind < 0.45:
        return Draft(render((), rng, styles(rng)), "normal")
    return rewritten(reference, errors, styles, rng) if kind > 0.7 else edited(reference, errors, rng)


def with_bad_language(entry: Draft, rng: Random) -> Draft:
    """With errors that MRScore counts and RadCliQ does not."""
    if rng.random() < 0.3 and (changed := bad_grammar(entry.report, rng)) is not None:
        entry = entry._replace(report=changed, grammar=True)
    if rng.random() < 0.25 and (changed := bad_terminology(entry.report, rng)) is not None:
        entry = entry._replace(report=changed, terminology=True)
    if rng.random() < 0.3 and (changed := other_history(entry.report, rng)) is not None:
        entry = entry._replace(report=changed)
    return entry


def all_errors(reference: AnnotatedReport, entry: Draft) -> dict[str, int]:
    """Errors of a candidate by every tag that synthesis knows."""
    counts = count_errors(reference.facts, entry.report.facts)
    return {
        **counts,
        **radcliq_errors(counts),
        **mrscore_errors(reference, entry.report, entry.grammar, entry.terminology),
    }


KNOWN = frozenset(tag for criteria in (RadCliQ(), RadCliQSignificance(), MRScore()) for tag in criteria.tags)


def check_criteria(criteria: Criteria) -> None:
    """Refuse criteria that no operator can make errors for.

    Raises:
        InputError: If a tag is not one of RadCliQ, RadCliQSignificance and MRScore.
    """
    if unknown := [tag for tag in criteria.tags if tag not in KNOWN]:
        raise InputError(
            f"criteria {criteria.name}: Expected criteria that synthesis can make errors for, but {unknown[0]!r} is "
            f"not one of {', '.join(sorted(KNOWN))}."
        )


def chosen_errors(errors: Mapping[str, int], criteria: Criteria) -> dict[str, float]:
    """Those errors that the criteria ask for."""
    return {criterion.tag: float(errors[criterion.tag]) for criterion in criteria.criteria}


def any_report(styles: Styles) -> Source:
    """Reports of any patient, from the grammar."""

    def source(rng: Random) -> AnnotatedReport:
        style = styles(rng)
        return render(sample_facts(rng, style.most, style.common), rng, style)

    return source


def like_report(reference: AnnotatedReport, styles: Styles) -> Source:
    """Reports of patients that share findings with the reference, from the grammar."""

    def source(rng: Random) -> AnnotatedReport:
        kept: list[Fact] = [fact for fact in reference.facts if fact.positive and rng.random() < 0.6]
        altered = [_altered(fact, rng) for fact in kept]
        taken = {fact.finding for fact in altered}
        style = styles(rng)
        new = [fact for fact in sample_facts(rng, style.most, style.common) if fact.finding not in taken]
        return render([*altered, *rng.sample(new, k=min(len(new), rng.randint(0, 2)))], rng, style)

    return source


def _altered(fact: Fact, rng: Random) -> Fact:
    """The finding as another patient may have it."""
    return fact._replace(
        severity=fact.severity if rng.random() < 0.6 else None, change=fact.change if rng.random() < 0.3 else None
    )
