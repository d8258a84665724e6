"""The errors of a candidate, by rule, from the facts of both reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from radreward.criteria import RADCLIQ_ERROR_TYPES
from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, ancestors, is_related
from radreward.text.severity import SEVERITY_LEVELS

ERROR_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
FALSE_PREDICTION, OMISSION, WRONG_LOCATION, WRONG_SEVERITY, FALSE_COMPARISON, OMITTED_COMPARISON = ERROR_TAGS
REPORTABLE_CHANGES: frozenset[Change | None] = frozenset({"new", "worse", "better", "resolved"})
"""Changes whose omission is an error; that something is unchanged may go unsaid."""


def count_errors(reference: Iterable[Fact], candidate: Iterable[Fact]) -> dict[str, int]:
    """Errors by the tags of `RadCliQSignificanceCriteria`.

    Facts are matched one to one, the same finding before a more general or more special one, and the most alike
    first. What stays alone in the candidate is a false prediction, in the reference an omission; a matched fact can
    have a wrong place, a wrong degree, a comparison that the reference does not make, and lack a change that it
    notes. What one side leaves unsaid about place or degree is no error, nor is a denial that goes unsaid.

    An error is significant if the finding is urgent or actionable; a wrong degree only if it is urgent, or the
    degrees are mild and severe; a wrong or missing comparison only if it hides or invents news, not stability.

    >>> effusion = Fact("effusion", location="left", severity="mild")
    >>> errors = count_errors([effusion], [effusion._replace(location="right"), Fact("scoliosis")])
    >>> {tag: count for tag, count in errors.items() if count}
    {'significant_incorrect_location': 1, 'insignificant_false_prediction': 1}
    """
    counts = {f"{kind}_{tag}": 0 for kind in ("significant", "insignificant") for tag in ERROR_TAGS}
    for entry in compare_facts(reference, candidate).errors:
        counts[f"{'' if entry.significant else 'in'}significant_{entry.tag}"] += 1
    return counts


class FactError(NamedTuple):
    """An error of a candidate, and the facts it is about."""

    tag: str
    """One of `TYPES`."""
    significant: bool
    reference: Fact | None
    """What the reference states of it."""
    candidate: Fact | None
    """What the candidate states of it."""


class FactComparison(NamedTuple):
    """How two reports differ."""

    errors: tuple[FactError, ...]
    matched: tuple[Fact, ...]
    """Findings that both report as there, as the reference states them."""


def compare_facts(reference: Iterable[Fact], candidate: Iterable[Fact]) -> FactComparison:
    """The errors of a candidate one by one, by the rules of `count_errors`, and what both reports have.

    >>> effusion = Fact("effusion", location="left")
    >>> found = differences([effusion], [effusion, Fact("scoliosis")])
    >>> [entry.tag for entry in found.errors], found.matched == (effusion,)
    (['false_prediction'], True)
    """
    errors: list[FactError] = []
    ours, theirs = _judgeable_facts(reference), _judgeable_facts(candidate)
    pairs = _match_facts(ours, theirs)
    for one, other in pairs:

        def add(tag: str, significant: bool, one: Fact | None = one, other: Fact | None = other) -> None:
            errors.append(FactError(tag, significant, one, other))

        if one is None:
            if other is not None and other.positive:
                add(FALSE_PREDICTION, FINDINGS[other.finding].is_significant)
            elif other is not None:
                add(FALSE_COMPARISON, FINDINGS[other.finding].is_significant)
        elif other is None:
            add(OMISSION if one.positive else OMITTED_COMPARISON, FINDINGS[one.finding].is_significant)
        else:
            _compare_details(one, other, add)
    matched = tuple(one for one, other in pairs if one and other and one.positive and other.positive)
    return FactComparison(tuple(errors), matched)


def to_radcliq_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Errors by the tags of `RadCliQ`: significant and insignificant ones together."""
    return {tag: counts[f"significant_{tag}"] + counts[f"insignificant_{tag}"] for tag in ERROR_TAGS}


def _judgeable_facts(facts: Iterable[Fact]) -> list[Fact]:
    """What can be right or wrong: findings that are there, and those that are said to be gone."""
    return [fact for fact in dict.fromkeys(facts) if fact.positive or fact.change == "resolved"]


def _compare_details(one: Fact, other: Fact, add: Callable[[str, bool], None]) -> None:
    matters = FINDINGS[one.finding].is_significant or FINDINGS[other.finding].is_significant
    if one.positive != other.positive:
        if one.positive:
            add(OMISSION, matters)
        else:
            add(FALSE_PREDICTION, matters)
            add(OMITTED_COMPARISON, matters)
        return
    if (
        one.location
        and other.location
        and one.location != other.location
        and not _contains_location(one.location, other.location)
    ):
        add(WRONG_LOCATION, matters)
    if one.severity and other.severity and one.severity != other.severity:
        far = abs(SEVERITY_LEVELS[one.severity] - SEVERITY_LEVELS[other.severity]) > 1
        add(WRONG_SEVERITY, matters and (far or FINDINGS[one.finding].urgency == "urgent"))
    if one.change != other.change:
        if other.change:
            add(FALSE_COMPARISON, matters and (other.change in REPORTABLE_CHANGES or one.change in REPORTABLE_CHANGES))
        elif one.change in REPORTABLE_CHANGES:
            add(OMITTED_COMPARISON, matters)


def _contains_location(one: str, other: str) -> bool:
    """Whether one place is a part of the other: "right" and "right lower" do not contradict."""
    return one.split(" ")[0] == other.split(" ")[0] and (" " not in one or " " not in other)


def _match_facts(ours: list[Fact], theirs: list[Fact]) -> list[tuple[Fact | None, Fact | None]]:
    """Facts of both sides in pairs, best first; None where a fact stays alone."""
    scored = sorted(
        ((_similarity(one, other), i, j) for i, one in enumerate(ours) for j, other in enumerate(theirs)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    left, right = dict(enumerate(ours)), dict(enumerate(theirs))
    pairs: list[tuple[Fact | None, Fact | None]] = []
    for likeness, i, j in scored:
        if likeness > 0 and i in left and j in right:
            pairs.append((left.pop(i), right.pop(j)))
    matched = [pair for pair in pairs if pair[0] and pair[1]]
    alone = [(fact, None) for fact in left.values() if not _is_repetition(fact, matched, 0)]
    alone_too = [(None, fact) for fact in right.values() if not _is_repetition(fact, matched, 1)]
    return [*pairs, *alone, *alone_too]


def _is_repetition(fact: Fact, matched: list[tuple[Fact | None, Fact | None]], side: int) -> bool:
    """Whether the same report says it a second time, more or less specially, without another place."""
    said = [pair[side] for pair in matched]
    return any(
        other is not None
        and other.positive == fact.positive
        and is_related(other.finding, fact.finding)
        and (not fact.location or not other.location or _contains_location(fact.location, other.location))
        for other in said
    )


def _similarity(one: Fact, other: Fact) -> float:
    if one.finding == other.finding:
        base = 100.0
    elif is_related(one.finding, other.finding):
        chain = ancestors(one.finding) if other.finding in ancestors(one.finding) else ancestors(other.finding)
        base = 50.0 - len(chain)
    else:
        return 0.0
    same = (one.positive == other.positive) * 8 + (one.location == other.location) * 4
    return base + same + (one.severity == other.severity) * 2 + (one.change == other.change)
