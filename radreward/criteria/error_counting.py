"""Errors and matched findings of a candidate, from the facts of both reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from radreward.criteria import CrimsonCriteria
from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.text.fact_differences import DETAIL_WEIGHT, Detail, FactDifference, find_differences
from radreward.text.fact_matching import FactMatch, match_facts
from radreward.text.facts import Fact
from radreward.text.significance import is_actionable, patient_weight, significance_level
from radreward.types import FindingWeights, Side

ERROR_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
FALSE_PREDICTION, OMISSION, WRONG_LOCATION, WRONG_SEVERITY, FALSE_COMPARISON, OMITTED_COMPARISON = ERROR_TAGS
_CRIMSON_TAGS = CrimsonCriteria().tags
_TAG_OF_DETAIL: dict[Detail, str] = {
    "location": WRONG_LOCATION,
    "severity": WRONG_SEVERITY,
    "size": WRONG_SEVERITY,
    "state": WRONG_SEVERITY,
}
"""Tag of a wrong detail; a wrong change has one of two tags, and other details none."""


class FactError(NamedTuple):
    """An error of a candidate, and its facts."""

    tag: str
    """One of `ERROR_TAGS`."""
    significant: bool
    reference: Fact | None
    """Fact of the reference, if any."""
    candidate: Fact | None
    """Fact of the candidate, if any."""

    @property
    def tag_with_significance(self) -> str:
        """One of the tags of `RadCliQSignificanceCriteria`."""
        return f"{'' if self.significant else 'in'}significant_{self.tag}"

    @property
    def side(self) -> Side:
        """Report that shows the error: the reference if the candidate omits a finding or a change."""
        return Side.REFERENCE if self.tag in (OMISSION, OMITTED_COMPARISON) else Side.CANDIDATE

    @property
    def fact(self) -> Fact:
        """Fact of this report.

        Raises:
            ValueError: If there is none.
        """
        fact = self.reference if self.side is Side.REFERENCE else self.candidate
        if fact is None:
            raise ValueError(f"Expected a fact of the {self.side} in an error of the kind {self.tag} but got none.")
        return fact


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
        counts[error.tag_with_significance] += 1
    return counts


def compare_facts(reference: Iterable[Fact], candidate: Iterable[Fact], is_generated: bool = True) -> FactComparison:
    """Return the errors of a candidate by the rules of `count_errors`, and the findings of both reports.

    Weights follow CRIMSON (arXiv 2603.06183). A matched finding of weight w whose wrong details weigh d adds
    w² / (w + d) to `matched` and d to `wrong`, but to `wrong` at most the larger weight of the two findings: it is not
    worse than a missed and a false finding. False and missed findings add their weight to `wrong`. In addition to the
    details that are counted as errors, another certainty can be wrong. A vaguer or more specific name, or a sign, is
    half right: w / 2 takes the place of w in the formula and is added to `wrong`, unless either name means the same
    care. For `is_generated`, see `match_facts`.

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
    for match in match_facts(reference, candidate, is_generated):
        if match.result != "matched":
            errors.append(_finding_error(match))
            if match.result == "missed":
                missed += match.reference
            else:
                false += match.candidate
            continue
        weight, stated_weight = (sum(map(patient_weight, facts)) for facts in match)
        differences = find_differences(match, is_generated)
        errors += filter(None, map(_detail_error, differences))
        matched += [fact for fact in match.reference if fact.positive]
        details = DETAIL_WEIGHT * sum(entry.changes_care for entry in differences)
        match_weights.append((weight, details))
        named = 0.5 * weight if any(entry.detail == "name" and entry.changes_care for entry in differences) else weight
        details -= DETAIL_WEIGHT * (named < weight)
        credit += named * named / (named + details) if named else 0.0
        if capped := min(weight - named + details, max(weight, stated_weight)):
            wrong_details.append((match.candidate[0], capped))
    wrong = sum(weight for _, weight in wrong_details)
    wrong += sum(map(patient_weight, (*missed, *false)))
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
    counts["wrong_detail"] = round(sum(details for _, details in comparison.match_weights) / DETAIL_WEIGHT)
    return counts


def to_radcliq_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return errors by the tags of `RadCliQCriteria`: significant plus insignificant ones."""
    return {tag: counts[f"significant_{tag}"] + counts[f"insignificant_{tag}"] for tag in ERROR_TAGS}


def _finding_error(match: FactMatch) -> FactError:
    """Return the error of a finding that only one report states, or that only one report calls resolved."""
    expected, stated = (facts[0] if facts else None for facts in match)
    if match.result == "missed":
        fact, tags = match.reference[0], (OMISSION, OMITTED_COMPARISON)
    else:
        fact, tags = match.candidate[0], (FALSE_PREDICTION, FALSE_COMPARISON)
    return FactError(tags[0] if fact.positive else tags[1], is_actionable(fact), expected, stated)


def _detail_error(difference: FactDifference) -> FactError | None:
    """Return the error of a wrong detail, or None if RadCliQ does not count the detail."""
    detail, changes_care, expected, stated = difference
    if detail == "change":
        tag = FALSE_COMPARISON if stated.change else OMITTED_COMPARISON
    elif detail in _TAG_OF_DETAIL:
        tag = _TAG_OF_DETAIL[detail]
    else:
        return None
    return FactError(tag, changes_care and (is_actionable(expected) or is_actionable(stated)), expected, stated)
