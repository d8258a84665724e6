"""Matching of the facts of two reports that are about the same finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from radreward.text.facts import Fact
from radreward.text.finding_relations import SHOWN_BY_SIGN, USED_FOR_EACH_OTHER
from radreward.text.findings import FINDINGS, ancestors, can_mean_same, is_kind_or_shown, is_related
from radreward.text.locations import are_neighbors, contains_location
from radreward.text.measurements import MEASURED_FINDINGS, is_same_extent, is_same_size
from radreward.text.tip_distances import is_same_distance

BILATERAL = "bilateral"
MatchResult = Literal["matched", "missed", "false"]
_SEPARATE_KINDS = frozenset({"nodule", "cvc", "fracture"})
"""Findings that a report can state in addition to a kind of them, such as a nodule and a mass."""


class FactMatch(NamedTuple):
    """Facts about one finding: a bilateral fact matches one fact per side, an unmatched fact none."""

    reference: tuple[Fact, ...]
    candidate: tuple[Fact, ...]

    @property
    def result(self) -> MatchResult:
        """Result for the candidate: it states, misses or invents the finding.

        A finding that one report calls resolved is not matched: the candidate misses a finding of the reference, or
        states one that has resolved. A resolved finding that only one report mentions is missed or false, too.

        >>> effusion, resolved = Fact("effusion"), Fact("effusion", "absent", change="resolved")
        >>> FactMatch((effusion,), (resolved,)).result, FactMatch((resolved,), (effusion,)).result
        ('missed', 'false')
        >>> FactMatch((resolved,), (resolved,)).result, FactMatch((resolved,), ()).result
        ('matched', 'missed')
        """
        if not self.candidate:
            return "missed"
        if not self.reference:
            return "false"
        expected, stated = self.reference[0].positive, self.candidate[0].positive
        return "matched" if expected == stated else "missed" if expected else "false"


def match_facts(reference: Iterable[Fact], candidate: Iterable[Fact], is_generated: bool = False) -> list[FactMatch]:
    """Match the facts of two reports about positive and resolved findings.

    Several facts of one report about the same finding, more or less specific, are merged. Then a bilateral finding is
    matched with its two sides, and the other facts one to one: the same finding before a more general or more specific
    one, and this before a vague name (`can_mean_same`), the most similar first. Facts with different names match only
    at places that touch. An unmatched fact is left out if it repeats a matched one of its report.

    Reports by others also state a bilateral finding again for each side, which counts once, and candidates may list
    several degrees or sizes, of which all but one are wrong. Generated reports do neither: `is_generated` keeps their
    counts of errors as they were when the shipped models were trained. With it, names that other people use for
    each other, such as scar and fibrosis, are different findings.

    >>> sides = [Fact("effusion", location="left"), Fact("effusion", location="right")]
    >>> len(match_facts([Fact("effusion", location="bilateral"), Fact("scar")], sides))
    2
    >>> opacity, mass = Fact("opacity", location="right upper"), Fact("mass", location="left lower")
    >>> len(match_facts([opacity], [mass])), len(match_facts([opacity], [mass._replace(location="right upper")]))
    (2, 1)
    """
    left, right = _distinct_findings(reference), _distinct_findings(candidate)
    if not is_generated:
        left, right = _without_restated_sides(left), _without_restated_sides(right)
    matches = [FactMatch((whole,), parts) for whole, parts in _take_sides(left, right)]
    matches += [FactMatch(parts, (whole,)) for whole, parts in _take_sides(right, left)]
    similarities = sorted(
        ((_similarity(a, b, is_generated), i, j) for i, a in enumerate(left) for j, b in enumerate(right)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    expected, stated = dict(enumerate(left)), dict(enumerate(right))
    for similarity, i, j in similarities:
        if similarity > 0 and i in expected and j in stated:
            matches.append(FactMatch((expected.pop(i),), (stated.pop(j),)))
    matched = [[fact for match in matches for fact in match[side]] for side in (0, 1)]
    omitted = [fact for fact in expected.values() if not _is_repetition(fact, matched[0])]
    added = [fact for fact in stated.values() if not _is_repetition(fact, matched[1], allows_other_degree=is_generated)]
    return [*matches, *(FactMatch((fact,), ()) for fact in omitted), *(FactMatch((), (fact,)) for fact in added)]


def _distinct_findings(facts: Iterable[Fact]) -> list[Fact]:
    """Return the positive and resolved findings of a report, each once with all details of the report.

    A sign and its interpretation are one finding. So are facts whose details do not contradict each other.

    >>> facts = [Fact("opacity", location="left lower"), Fact("pneumonia", "uncertain")]
    >>> [fact[:3] for fact in _distinct_findings(facts)]
    [('pneumonia', 'uncertain', 'left lower')]
    >>> len(_distinct_findings([Fact("pneumothorax"), Fact("pleuralline")]))
    1
    """
    stated = list(dict.fromkeys(fact for fact in facts if fact.is_stated))
    if len(stated) < 2:
        return stated
    retained: list[tuple[int, Fact]] = []
    for index in sorted(range(len(stated)), key=lambda index: _generality(stated[index])):
        for number, (first, specific) in enumerate(retained):
            if is_included(stated[index], specific):
                retained[number] = min(first, index), specific.completed_by(stated[index])
                break
        else:
            retained.append((index, stated[index]))
    return [fact for _, fact in sorted(retained)] if len(retained) < len(stated) else stated


def _without_restated_sides(facts: list[Fact]) -> list[Fact]:
    """Return facts without a bilateral one whose sides are stated apart, else without the single side that is.

    >>> left, right, both = (Fact("effusion", location=side) for side in ("left", "right", "bilateral"))
    >>> _without_restated_sides([both, left, right]) == [left, right], _without_restated_sides([both, left]) == [both]
    (True, True)
    """
    restated: set[Fact] = set()
    for whole in facts:
        if whole.positive and (whole.location or "").startswith(BILATERAL):
            parts = _stated_sides(whole, facts)
            if all(parts):
                restated.add(whole)
            elif whole.finding not in _SEPARATE_KINDS:
                restated.update(part for part in parts if part)
    return [fact for fact in facts if fact not in restated]


def _stated_sides(whole: Fact, facts: list[Fact]) -> list[Fact | None]:
    """Return the facts that state the left and the right side of a bilateral finding, None for a side without one."""
    zone = (whole.location or "").removeprefix(BILATERAL)
    options = [part for part in facts if part.positive and part.finding == whole.finding and part.location]
    return [
        next((part for part in options if contains_location(side + zone, part.location or "")), None)
        for side in ("left", "right")
    ]


def _generality(fact: Fact) -> tuple[bool, int, int, tuple[str, ...]]:
    """Return a sort key for the most specific fact first and signs last, independent of the order of facts."""
    return (
        fact.finding in SHOWN_BY_SIGN,
        -len(ancestors(fact.finding)),
        -sum(map(bool, fact.details)),
        tuple(map(str, fact)),
    )


def is_same_measure(finding: str, first: float, second: float) -> bool:
    """Return True if two sizes of a finding, or distances of the tip of a device, can be the same.

    >>> is_same_measure("nodule", 5.0, 8.0), is_same_measure("ett", 40.0, 50.0)
    (False, True)
    """
    if FINDINGS[finding].is_device:
        return is_same_distance(first, second)
    return (is_same_size if finding in MEASURED_FINDINGS else is_same_extent)(first, second)


def _agree_in_size(first: Fact, second: Fact) -> bool:
    """Return True if two facts of one report about a finding can have one size; two nodules have two."""
    if first.finding in MEASURED_FINDINGS or not first.size or not second.size:
        return _agree(first.size, second.size)
    return is_same_measure(first.finding, first.size, second.size)


def is_included(fact: Fact, specific: Fact) -> bool:
    """Return True if `specific` states the finding of a fact, a kind of it or what it shows, at the same location."""
    if fact.positive != specific.positive or not is_kind_or_shown(fact.finding, specific.finding):
        return False
    locations = (fact.location or specific.location or "", specific.location or fact.location or "")
    if fact.finding not in ancestors(specific.finding):
        return contains_location(*locations)
    if fact.finding != specific.finding:
        return fact.finding not in _SEPARATE_KINDS and locations[0] == locations[1]
    agree = _agree(fact.severity, specific.severity) and _agree(fact.change, specific.change)
    return contains_location(*locations) and agree and _agree_in_size(fact, specific)


def _take_sides(wholes: list[Fact], parts: list[Fact]) -> list[tuple[Fact, tuple[Fact, ...]]]:
    """Remove bilateral facts from the first list and their two sides from the second, and return them."""
    taken = []
    for whole in [fact for fact in wholes if fact.positive and (fact.location or "").startswith(BILATERAL)]:
        if any(part.finding == whole.finding and part.location == whole.location for part in parts if part.positive):
            continue
        sides = _stated_sides(whole, parts)
        both = tuple(part for part in sides if part)
        if len(both) == len(sides):
            taken.append((whole, both))
            wholes.remove(whole)
            for part in both:
                parts.remove(part)
    return taken


def _is_repetition(fact: Fact, matched: list[Fact], allows_other_degree: bool = True) -> bool:
    """Return True if a fact repeats a matched one of its report, more or less specifically, with no other location.

    A candidate that lists several degrees or sizes, one of which is right, is wrong about the others.
    """
    return any(
        other.positive == fact.positive
        and is_related(other.finding, fact.finding)
        and (allows_other_degree or (_agree(fact.severity, other.severity) and _agree_in_size(fact, other)))
        and (not fact.location or not other.location or contains_location(fact.location, other.location))
        for other in matched
    )


def _agree(first: object, second: object) -> bool:
    return first is None or second is None or first == second


def _similarity(first: Fact, second: Fact, is_generated: bool) -> float:
    if first.finding == second.finding:
        base = 100.0
    elif _are_apart(first, second):
        return 0.0
    elif not is_generated and {first.finding, second.finding} in USED_FOR_EACH_OTHER:
        base = 60.0
    elif not can_mean_same(first.finding, second.finding):
        return 0.0
    elif is_related(first.finding, second.finding):
        base = 50.0 - max(len(ancestors(first.finding)), len(ancestors(second.finding)))
    else:
        base = 20.0
    shared = (first.positive == second.positive) * 8 + (first.location == second.location) * 4
    details = (
        (first.severity == second.severity) * 2 + (first.change == second.change) + (first.size == second.size) / 2
    )
    return base + shared + details


def _are_apart(first: Fact, second: Fact) -> bool:
    """Return True if two findings, not devices, are at places that neither contain each other nor touch."""
    places = (first.location or "", second.location or "")
    is_device = FINDINGS[first.finding].is_device
    return not is_device and all(places) and not (contains_location(*places) or are_neighbors(*places))
