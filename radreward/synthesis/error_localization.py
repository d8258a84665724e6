"""Localization of the errors of a candidate in statements of both reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import FactComparison
from radreward.text.fact_matching import is_included
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.significance import patient_weight
from radreward.types import LocatedError, Side

_LOCATED_TAGS = frozenset((*RadCliQCriteria().tags, *RadCliQSignificanceCriteria().tags))
"""Tags of criteria whose errors concern a fact, and so a statement."""


def locate_errors_of_facts(
    comparison: FactComparison, reference: AnnotatedReport, candidate: AnnotatedReport, criteria: Criteria
) -> tuple[LocatedError, ...] | None:
    """Locate the errors of a candidate in statements; return None if a criterion concerns no facts.

    Missed findings are located in the reference, all other errors in the candidate: in every sentence that states the
    fact, more or less specifically. Errors that share a sentence are one located error.

    >>> from radreward.criteria.error_counting import compare_facts
    >>> from radreward.text.report_parser import parse_report
    >>> reports = [parse_report(text) for text in ("Left effusion. Mild edema.", "Mild edema. Small pneumothorax.")]
    >>> comparison = compare_facts(*(report.facts for report in reports))
    >>> for located in locate_errors_of_facts(comparison, *reports, RadCliQCriteria()):
    ...     print(located.side, *located.statements, dict(located.errors), located.wrong)
    reference Left effusion. {'omission': 1.0} 0.5
    candidate Small pneumothorax. {'false_prediction': 1.0} 0.5
    """
    if not _LOCATED_TAGS.issuperset(criteria.tags):
        return None
    reports = {Side.REFERENCE: reference, Side.CANDIDATE: candidate}
    located: dict[Side, list[_Located]] = {side: [] for side in reports}
    for side, fact, tags, wrong in _amounts_of_facts(comparison):
        numbers = _stating_sentences(reports[side], fact)
        if not numbers:
            raise ValueError(f"Expected the {side} to state {fact} but no sentence does: {reports[side].text[:80]!r}.")
        located[side] = _merge(located[side], _Located(numbers, Counter(tags), wrong))
    return tuple(
        LocatedError(
            side,
            tuple(dict.fromkeys(reports[side].sentences[number].text for number in sorted(entry.numbers))),
            {tag: float(entry.counts[tag]) for tag in criteria.tags if entry.counts[tag]},
            entry.wrong,
        )
        for side, entries in located.items()
        for entry in entries
    )


class _Located(NamedTuple):
    numbers: set[int]
    """Indices of the sentences."""
    counts: Counter[str]
    """Error counts by tag."""
    wrong: float


def _amounts_of_facts(comparison: FactComparison) -> Iterator[tuple[Side, Fact, tuple[str, ...], float]]:
    """Yield the side and the fact of each error with its tags, and of each wrong finding with its weight."""
    for error in comparison.errors:
        yield error.side, error.fact, (error.tag, error.tag_with_significance), 0.0
    for fact in comparison.missed:
        yield Side.REFERENCE, fact, (), patient_weight(fact)
    for fact in comparison.false:
        yield Side.CANDIDATE, fact, (), patient_weight(fact)
    for fact, weight in comparison.wrong_details:
        yield Side.CANDIDATE, fact, (), weight


def _stating_sentences(report: AnnotatedReport, fact: Fact) -> set[int]:
    """Return the indices of the sentences that state a fact or a part of it."""
    return {
        number
        for number, sentence in enumerate(report.sentences)
        if any(is_included(stated, fact) for stated in sentence.facts)
    }


def _merge(located: list[_Located], new: _Located) -> list[_Located]:
    """Return located errors and a new one, which is merged with those that share a sentence with it."""
    separate = []
    for entry in located:
        if entry.numbers & new.numbers:
            new = _Located(entry.numbers | new.numbers, entry.counts + new.counts, entry.wrong + new.wrong)
        else:
            separate.append(entry)
    return [*separate, new]
