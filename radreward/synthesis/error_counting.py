"""Rule-based count of a candidate's errors, from the facts of both reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from radreward.criteria import RADCLIQ_ERROR_TYPES
from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, ancestors, is_related
from radreward.text.severity import SEVERITY_LEVELS

ERROR_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
FALSE_PREDICTION, OMISSION, WRONG_LOCATION, WRONG_SEVERITY, FALSE_COMPARISON, OMITTED_COMPARISON = ERROR_TAGS
REPORTABLE_CHANGES: frozenset[Change | None] = frozenset({"new", "worse", "better", "resolved"})
"""Changes whose omission is an error; stability may go unmentioned."""
FactPair = tuple[Fact | None, Fact | None]


class FactError(NamedTuple):
    """An error of a candidate, and the facts it concerns."""

    tag: str
    """One of `ERROR_TAGS`."""
    significant: bool
    reference: Fact | None
    """Fact of the reference, if any."""
    candidate: Fact | None
    """Fact of the candidate, if any."""


class FactComparison(NamedTuple):
    """Errors of a candidate, and the findings that match."""

    errors: tuple[FactError, ...]
    matched: tuple[Fact, ...]
    """Positive findings of both reports, as the reference states them."""


def count_errors(reference: Iterable[Fact], candidate: Iterable[Fact]) -> dict[str, int]:
    """Count errors by the tags of `RadCliQSignificanceCriteria`.

    Facts are matched one to one: the same finding before a more general or more specific one, and the most similar
    first. An unmatched fact is a false prediction or an omission. A matched fact can have a wrong location, a wrong
    severity, a comparison that the reference does not make, or lack a change that the reference reports. A location,
    severity or negation that only one report states is no error.

    An error is significant if the finding is urgent or actionable. A wrong severity is significant only if the finding
    is urgent or the levels are mild and severe; a wrong or missing comparison only if it hides or invents a change.

    >>> effusion = Fact("effusion", location="left", severity="mild")
    >>> errors = count_errors([effusion], [effusion._replace(location="right"), Fact("scoliosis")])
    >>> {tag: count for tag, count in errors.items() if count}
    {'significant_incorrect_location': 1, 'insignificant_false_prediction': 1}
    """
    counts = {f"{kind}_{tag}": 0 for kind in ("significant", "insignificant") for tag in ERROR_TAGS}
    for error in compare_facts(reference, candidate).errors:
        counts[f"{'' if error.significant else 'in'}significant_{error.tag}"] += 1
    return counts


def compare_facts(reference: Iterable[Fact], candidate: Iterable[Fact]) -> FactComparison:
    """Return the errors of a candidate by the rules of `count_errors`, and the findings of both reports.

    >>> effusion = Fact("effusion", location="left")
    >>> comparison = compare_facts([effusion], [effusion, Fact("scoliosis")])
    >>> [error.tag for error in comparison.errors], comparison.matched == (effusion,)
    (['false_prediction'], True)
    """
    pairs = _match_facts(_judgeable_facts(reference), _judgeable_facts(candidate))
    errors = [
        FactError(tag, significant, expected, stated)
        for expected, stated in pairs
        for tag, significant in _pair_errors(expected, stated)
    ]
    matched = tuple(
        expected for expected, stated in pairs if expected and stated and expected.positive and stated.positive
    )
    return FactComparison(tuple(errors), matched)


def to_radcliq_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return errors by the tags of `RadCliQCriteria`: significant plus insignificant ones."""
    return {tag: counts[f"significant_{tag}"] + counts[f"insignificant_{tag}"] for tag in ERROR_TAGS}


def contains_location(first: str, second: str) -> bool:
    """Return True if either location is the side of the other, so that both can be correct.

    >>> contains_location("right", "right lower"), contains_location("right upper", "right lower")
    (True, False)
    """
    return first.split(" ")[0] == second.split(" ")[0] and (" " not in first or " " not in second)


def _judgeable_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts that can be right or wrong: positive findings, and those that have resolved."""
    return [fact for fact in dict.fromkeys(facts) if fact.positive or fact.change == "resolved"]


def _pair_errors(expected: Fact | None, stated: Fact | None) -> Iterator[tuple[str, bool]]:
    """Yield the tag and significance of each error of a pair."""
    if expected is None and stated is not None:
        yield FALSE_PREDICTION if stated.positive else FALSE_COMPARISON, FINDINGS[stated.finding].is_significant
    elif expected is not None and stated is None:
        yield OMISSION if expected.positive else OMITTED_COMPARISON, FINDINGS[expected.finding].is_significant
    elif expected is not None and stated is not None:
        yield from _detail_errors(expected, stated)


def _detail_errors(expected: Fact, stated: Fact) -> Iterator[tuple[str, bool]]:
    significant = FINDINGS[expected.finding].is_significant or FINDINGS[stated.finding].is_significant
    if expected.positive and not stated.positive:
        yield OMISSION, significant
        return
    if stated.positive and not expected.positive:
        yield FALSE_PREDICTION, significant
        yield OMITTED_COMPARISON, significant
        return
    locations = (expected.location or "", stated.location or "")
    if all(locations) and locations[0] != locations[1] and not contains_location(*locations):
        yield WRONG_LOCATION, significant
    if expected.severity and stated.severity and expected.severity != stated.severity:
        is_far = abs(SEVERITY_LEVELS[expected.severity] - SEVERITY_LEVELS[stated.severity]) > 1
        yield WRONG_SEVERITY, significant and (is_far or FINDINGS[expected.finding].urgency == "urgent")
    if expected.change != stated.change:
        if stated.change:
            is_reportable = stated.change in REPORTABLE_CHANGES or expected.change in REPORTABLE_CHANGES
            yield FALSE_COMPARISON, significant and is_reportable
        elif expected.change in REPORTABLE_CHANGES:
            yield OMITTED_COMPARISON, significant


def _match_facts(reference: list[Fact], candidate: list[Fact]) -> list[FactPair]:
    """Return facts in pairs, the most similar first; None for the partner of an unmatched fact."""
    similarities = sorted(
        ((_similarity(a, b), i, j) for i, a in enumerate(reference) for j, b in enumerate(candidate)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    left, right = dict(enumerate(reference)), dict(enumerate(candidate))
    matched: list[tuple[Fact, Fact]] = []
    for similarity, i, j in similarities:
        if similarity > 0 and i in left and j in right:
            matched.append((left.pop(i), right.pop(j)))
    omitted = [fact for fact in left.values() if not _is_repetition(fact, [pair[0] for pair in matched])]
    added = [fact for fact in right.values() if not _is_repetition(fact, [pair[1] for pair in matched])]
    return [*matched, *((fact, None) for fact in omitted), *((None, fact) for fact in added)]


def _is_repetition(fact: Fact, matched: list[Fact]) -> bool:
    """Return True if a fact repeats a matched one of its report, more or less specifically, at no other location."""
    return any(
        other.positive == fact.positive
        and is_related(other.finding, fact.finding)
        and (not fact.location or not other.location or contains_location(fact.location, other.location))
        for other in matched
    )


def _similarity(first: Fact, second: Fact) -> float:
    if first.finding == second.finding:
        base = 100.0
    elif is_related(first.finding, second.finding):
        base = 50.0 - max(len(ancestors(first.finding)), len(ancestors(second.finding)))
    else:
        return 0.0
    shared = (first.positive == second.positive) * 8 + (first.location == second.location) * 4
    return base + shared + (first.severity == second.severity) * 2 + (first.change == second.change)
