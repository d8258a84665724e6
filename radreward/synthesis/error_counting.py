"""Errors and matched findings of a candidate, from the facts of both reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from radreward.criteria import CrimsonCriteria
from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.synthesis.fact_matching import FactMatch, match_facts
from radreward.text.facts import Change, Fact
from radreward.text.findings import MALPOSITIONED, ancestors, means_same_care
from radreward.text.locations import are_neighbors, contains_location
from radreward.text.measurements import is_same_size
from radreward.text.severity import SEVERITY_LEVELS
from radreward.text.significance import is_actionable, significance_level, significance_weight
from radreward.types import FindingWeights

ERROR_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
FALSE_PREDICTION, OMISSION, WRONG_LOCATION, WRONG_SEVERITY, FALSE_COMPARISON, OMITTED_COMPARISON = ERROR_TAGS
_CRIMSON_TAGS = CrimsonCriteria().tags
REPORTABLE_CHANGES: frozenset[Change | None] = frozenset({"new", "worse", "better", "resolved"})
"""Changes whose omission is an error; a candidate may omit that a finding is stable."""
_DETAIL_WEIGHT = 0.5
"""Weight of a wrong detail that changes care."""


class FactError(NamedTuple):
    """An error of a candidate, and its facts."""

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
    """Positive findings of the reference that the candidate has too."""
    weights: FindingWeights
    """Weights of matched and wrong findings by clinical significance."""
    match_weights: tuple[tuple[float, float], ...]
    """Weight of each matched finding, and of its wrong details; see `crimson_score`."""
    missed: tuple[Fact, ...]
    """Findings of the reference that the candidate lacks or calls resolved."""
    false: tuple[Fact, ...]
    """Findings of the candidate that the reference lacks or calls resolved."""
    wrong_details: tuple[tuple[Fact, float], ...]
    """Findings of the candidate with wrong details that change care, and the weight of these details."""


class _Difference(NamedTuple):
    """A detail in which two facts about one finding differ."""

    detail: str
    """"name" for a vaguer or a more specific name."""
    changes_care: bool
    error: FactError | None
    """None for a detail that RadCliQ does not count."""


def count_errors(reference: Iterable[Fact], candidate: Iterable[Fact]) -> dict[str, int]:
    """Count errors by the tags of `RadCliQSignificanceCriteria`.

    Facts are matched by `match_facts`. An unmatched fact is a false prediction or an omission. A matched fact can have
    a wrong location (also a tube out of place instead of in place, or the reverse), a wrong severity or size, a
    comparison that the reference does not make, or no change although the reference states one; a detail that two
    facts share is counted once. A location, severity, size or negation that only one report states is no error.

    An error is significant if the finding is urgent or actionable (`significance_level`). An error of a detail must
    also change care: another side, a zone that does not touch, a severity of another level of significance, mild
    instead of severe or the reverse, another size (`is_same_size`), a change that is omitted or invented.

    >>> effusion = Fact("effusion", location="left")
    >>> errors = count_errors([effusion], [effusion._replace(location="right"), Fact("scoliosis")])
    >>> {tag: count for tag, count in errors.items() if count}
    {'significant_incorrect_location': 1, 'insignificant_false_prediction': 1}
    """
    return tally_errors(compare_facts(reference, candidate).errors)


def tally_errors(errors: Iterable[FactError]) -> dict[str, int]:
    """Count errors by the tags of `RadCliQSignificanceCriteria`."""
    counts = {f"{kind}_{tag}": 0 for kind in ("significant", "insignificant") for tag in ERROR_TAGS}
    for error in errors:
        counts[f"{'' if error.significant else 'in'}significant_{error.tag}"] += 1
    return counts


def compare_facts(reference: Iterable[Fact], candidate: Iterable[Fact]) -> FactComparison:
    """Return the errors of a candidate by the rules of `count_errors`, and the findings of both reports.

    Weights follow CRIMSON (arXiv 2603.06183). A matched finding of weight w whose wrong details weigh d adds
    w² / (w + d) to `matched` and d to `wrong`, but to `wrong` at most the larger weight of the two findings: it is not
    worse than a missed and a false finding. False and missed findings add their weight to `wrong`. In addition to the
    details that are counted as errors, another certainty can be wrong. A vaguer or more specific name, or a sign, is
    half right: w / 2 takes the place of w in the formula and is added to `wrong`, unless either name means the same
    care.

    >>> effusion = Fact("effusion", location="left")
    >>> comparison = compare_facts([effusion], [effusion, Fact("scar")])
    >>> [error.tag for error in comparison.errors], comparison.matched == (effusion,), comparison.weights
    (['false_prediction'], True, FindingWeights(matched=0.5, wrong=0.25))
    >>> compare_facts([Fact("pneumothorax")], [Fact("deepsulcus")]).weights
    FindingWeights(matched=0.5, wrong=0.5)
    """
    errors: list[FactError] = []
    matched: list[Fact] = []
    match_weights: list[tuple[float, float]] = []
    missed: list[Fact] = []
    false: list[Fact] = []
    wrong_details: list[tuple[Fact, float]] = []
    credit = 0.0
    for match in match_facts(reference, candidate):
        expected, stated = (facts[0] if facts else None for facts in match)
        if expected is None or stated is None or expected.positive != stated.positive:
            error = _finding_error(expected, stated)
            errors.append(error)
            is_missed = error.tag in (OMISSION, OMITTED_COMPARISON)
            (missed if is_missed else false).extend(match.reference if is_missed else match.candidate)
            continue
        weight, stated_weight = (sum(map(significance_weight, facts)) for facts in match)
        differences = _differences(match)
        errors += [entry.error for entry in differences if entry.error]
        matched += [fact for fact in match.reference if fact.positive]
        details = _DETAIL_WEIGHT * sum(entry.changes_care for entry in differences)
        match_weights.append((weight, details))
        named = 0.5 * weight if any(entry.detail == "name" and entry.changes_care for entry in differences) else weight
        details -= _DETAIL_WEIGHT * (named < weight)
        credit += named * named / (named + details) if named else 0.0
        if capped := min(weight - named + details, max(weight, stated_weight)):
            wrong_details.append((match.candidate[0], capped))
    wrong = sum(weight for _, weight in wrong_details)
    wrong += sum(map(significance_weight, (*missed, *false)))
    weights = FindingWeights(credit, wrong)
    return FactComparison(
        errors=tuple(errors),
        matched=tuple(matched),
        weights=weights,
        match_weights=tuple(match_weights),
        missed=tuple(missed),
        false=tuple(false),
        wrong_details=tuple(wrong_details),
    )


def count_crimson_errors(comparison: FactComparison) -> dict[str, int]:
    """Count errors by the tags of `CrimsonCriteria`.

    >>> counts = count_crimson_errors(compare_facts([Fact("pneumothorax")], [Fact("scar")]))
    >>> {tag: count for tag, count in counts.items() if count}
    {'not_actionable_false_finding': 1, 'urgent_missing_finding': 1}
    """
    counts = dict.fromkeys(_CRIMSON_TAGS, 0)
    for kind, facts in (("false", comparison.false), ("missing", comparison.missed)):
        for fact in facts:
            level = significance_level(fact)
            if level != "benign":
                counts[f"{level.replace(' ', '_')}_{kind}_finding"] += 1
    counts["wrong_detail"] = round(sum(details for _, details in comparison.match_weights) / _DETAIL_WEIGHT)
    return counts


def to_radcliq_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return errors by the tags of `RadCliQCriteria`: significant plus insignificant ones."""
    return {tag: counts[f"significant_{tag}"] + counts[f"insignificant_{tag}"] for tag in ERROR_TAGS}


def _finding_error(expected: Fact | None, stated: Fact | None) -> FactError:
    """Return the error of a finding that only one report states, or that only one report calls resolved."""
    if expected and (expected.positive or not stated):
        tag = OMISSION if expected.positive else OMITTED_COMPARISON
        return FactError(tag, is_actionable(expected), expected, stated)
    if stated is None:
        raise ValueError("Expected a fact of one of the reports but got none.")
    return FactError(FALSE_PREDICTION if stated.positive else FALSE_COMPARISON, is_actionable(stated), expected, stated)


def _differences(match: FactMatch) -> list[_Difference]:
    """Return the details that differ, each once even if two facts share it."""
    differences: dict[str, _Difference] = {}
    for expected in match.reference:
        for stated in match.candidate:
            is_side = len(match.reference) + len(match.candidate) > 2
            for detail, tag, changes_care in _pair_differences(expected, stated):
                if is_side and detail == "location":
                    continue
                is_significant = changes_care and (is_actionable(expected) or is_actionable(stated))
                error = FactError(tag, is_significant, expected, stated) if tag else None
                if detail not in differences or changes_care > differences[detail].changes_care:
                    differences[detail] = _Difference(detail, changes_care, error)
    return list(differences.values())


def _pair_differences(expected: Fact, stated: Fact) -> Iterator[tuple[str, str | None, bool]]:
    """Yield each detail that differs, its tag (None if RadCliQ does not count it), and True if it changes care."""
    level = significance_level(expected)
    if (expected.finding in MALPOSITIONED.values()) != (stated.finding in MALPOSITIONED.values()):
        yield "location", WRONG_LOCATION, True
    elif expected.finding != stated.finding:
        specific = max(expected, stated, key=lambda fact: len(ancestors(fact.finding)))
        yield "name", None, specific.polarity == "present" and not means_same_care(expected.finding, stated.finding)
    if expected.polarity != stated.polarity:
        yield "certainty", None, level == "urgent"
    locations = (expected.location or "", stated.location or "")
    if all(locations) and not contains_location(*locations):
        moves_level = significance_level(expected._replace(location=stated.location)) != level
        yield "location", WRONG_LOCATION, moves_level or not are_neighbors(*locations)
    if expected.severity and stated.severity and expected.severity != stated.severity:
        is_far = abs(SEVERITY_LEVELS[expected.severity] - SEVERITY_LEVELS[stated.severity]) > 1
        moves_level = significance_level(expected._replace(severity=stated.severity)) != level
        yield "severity", WRONG_SEVERITY, is_far or moves_level
    if expected.size and stated.size and not is_same_size(expected.size, stated.size):
        yield "severity", WRONG_SEVERITY, True
    if stated.change and expected.change != stated.change:
        yield "change", FALSE_COMPARISON, bool(REPORTABLE_CHANGES & {expected.change, stated.change})
    elif expected.change in REPORTABLE_CHANGES and expected.change != stated.change:
        yield "change", OMITTED_COMPARISON, True
