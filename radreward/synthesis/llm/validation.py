"""Whether the errors that a writer states are there, as far as rules can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from radreward.criteria import RADCLIQ_ERROR_TYPES, Criteria
from radreward.synthesis.error_counting import ERROR_TAGS, FALSE_PREDICTION, OMISSION, count_errors, to_radcliq_counts
from radreward.synthesis.llm.parser import ReportedError, normalize_for_comparison
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.report_parser import MAX_REPORT_CHARS, is_fully_parsed, parse_report

CHECK_LEVELS = {
    "exact": "both reports were read wholly, and have as many errors of every type",
    "entities": "an error that adds or leaves out a finding has an entity that the other report does not have",
    "quotes": "the quoted words stand where they are said to, and nothing more could be told",
}
"""How far a sample was checked, the farthest first."""
_SIGNIFICANCE = ("significant_", "insignificant_")


class CheckResult(NamedTuple):
    """What a check found."""

    level: str
    """One of `LEVELS`; empty where there is a problem."""
    error: str | None


def check_reported_errors(
    criteria: Criteria, reference: str, candidate: str, counts: Mapping[str, int], errors: Sequence[ReportedError]
) -> CheckResult:
    """Check the errors that are stated of a candidate.

    Quoted words must stand in the report they are said to be of; words of one report alone must not stand in the
    other, and words of both must differ. Where rules read both reports wholly, which they do with known wordings only,
    the errors of each of the six types must be as many as they count; whether one is significant is the writer's to
    say. Elsewhere, of a false prediction or an omission whose words hold entities, the other report must lack one.

    >>> from radreward.criteria import RadCliQ
    >>> counts = dict.fromkeys(RadCliQ().tags, 0) | {"omission": 1}
    >>> error = StatedError("omission", "Small left effusion.", None, "")
    >>> check(RadCliQ(), "Small left effusion. No edema.", "There is no edema.", counts, [error])
    Report(level='exact', problem=None)
    >>> check(RadCliQ(), "Small left effusion.", "Left effusion.", counts, [error]).problem
    'not an error by the rules: omission: 1 stated, 0 found'
    """
    for error in errors:
        if problem := _find_misquote(reference, candidate, error):
            return CheckResult("", problem)
    if problem := _count_mismatch(criteria, reference, candidate, counts):
        return CheckResult("", problem)
    if _is_countable(criteria, reference, candidate):
        return CheckResult("exact", None)
    told = [_mentions_entity(reference, candidate, error) for error in errors]
    if False in told:
        error = errors[told.index(False)]
        words = error.candidate or error.reference or ""
        return CheckResult("", f"not an error by its entities: {error.tag}: {words[:80]} is in both reports")
    return CheckResult("entities" if True in told else "quotes", None)


def _find_misquote(reference: str, candidate: str, error: ReportedError) -> str | None:
    ours, theirs = normalize_for_comparison(reference), normalize_for_comparison(candidate)
    one, other = normalize_for_comparison(error.reference or ""), normalize_for_comparison(error.candidate or "")
    if not one and not other:
        return f"nothing quoted: {error.tag}"
    if one not in ours:
        return f"quote not in the reference: {error.tag}: {one[:80]}"
    if other not in theirs:
        return f"quote not in the candidate: {error.tag}: {other[:80]}"
    if one == other or (not other and one in theirs) or (not one and other in ours):
        return f"quote in both reports: {error.tag}: {(one or other)[:80]}"
    return None


def _error_type(tag: str) -> str | None:
    """Which of the six types of error a tag is, of whatever significance."""
    for prefix in _SIGNIFICANCE:
        tag = tag.removeprefix(prefix)
    return tag if tag in ERROR_TAGS else None


def _is_countable(criteria: Criteria, reference: str, candidate: str) -> bool:
    known = {_error_type(tag) for tag in criteria.tags}
    return known == set(ERROR_TAGS) and _fully_parsed_facts(reference) and _fully_parsed_facts(candidate)


def _fully_parsed_facts(report: str) -> bool:
    if len(report) > MAX_REPORT_CHARS:
        return False
    read = parse_report(report)
    return is_fully_parsed(read) and any(entry.section in ("findings", "impression") for entry in read.sentences)


def _count_mismatch(criteria: Criteria, reference: str, candidate: str, counts: Mapping[str, int]) -> str | None:
    if not _is_countable(criteria, reference, candidate):
        return None
    found = to_radcliq_counts(count_errors(parse_report(reference).facts, parse_report(candidate).facts))
    for entry in RADCLIQ_ERROR_TYPES:
        stated = sum(count for tag, count in counts.items() if _error_type(tag) == entry.tag)
        if stated != found[entry.tag]:
            return f"not an error by the rules: {entry.tag}: {stated} stated, {found[entry.tag]} found"
    return None


def _mentions_entity(reference: str, candidate: str, error: ReportedError) -> bool | None:
    """Whether a finding that is added or left out is not in the other report; None where rules cannot tell."""
    words, other = {FALSE_PREDICTION: (error.candidate, reference), OMISSION: (error.reference, candidate)}.get(
        _error_type(error.tag) or "", (None, "")
    )
    if words is None:
        return None
    said = {entity for entity in _entities(words) if entity[1] != "Anatomy"}
    return not said <= _entities(other) if said else None


@lru_cache(1_000)
def _entities(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((entity.name.lower(), entity.type) for entity in RuleTagger().tag_reports([text])[0])
