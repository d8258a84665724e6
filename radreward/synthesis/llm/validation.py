"""Rule-based checks of the errors that a language model reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.criteria.error_counting import ERROR_TAGS, FALSE_PREDICTION, OMISSION, count_errors, to_radcliq_counts
from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.synthesis.llm.parser import ReportedError, normalize_for_comparison
from radreward.text.entities import rule_entities
from radreward.text.facts import AnnotatedReport
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.report_parser import BODY_SECTIONS, is_fully_parsed, parse_report
from radreward.text.sentence_splitter import split_sentences

CHECK_LEVELS = {
    "exact": "both reports were parsed completely, and every type has the reported number of errors",
    "entities": "a false prediction or omission has an entity that the other report does not have",
    "quotes": "the quotes are in their reports; nothing more could be checked",
}
"""Levels of checks, the strictest first."""


class CheckResult(NamedTuple):
    """Result of a check."""

    level: str
    """One of `CHECK_LEVELS`, or empty if there is an error."""
    error: str | None


def check_reported_errors(
    criteria: Criteria, reference: str, candidate: str, counts: Mapping[str, int], errors: Sequence[ReportedError]
) -> CheckResult:
    """Check the errors that a language model reports for a candidate.

    A quote must be in its report. An error that quotes one report must not have its quote in the other; quotes of both
    reports must differ. If both reports can be parsed completely, the number of errors per type must equal the number
    that rules count; the significance is ignored. Otherwise, a false prediction or omission that quotes entities must
    quote one that the other report does not have.

    >>> from radreward.criteria import RadCliQCriteria
    >>> criteria = RadCliQCriteria()
    >>> counts = dict.fromkeys(criteria.tags, 0) | {"omission": 1}
    >>> error = ReportedError("omission", "Small left effusion.", None, "")
    >>> check_reported_errors(criteria, "Small left effusion. No edema.", "There is no edema.", counts, [error])
    CheckResult(level='exact', error=None)
    >>> check_reported_errors(criteria, "Small left effusion.", "Left effusion.", counts, [error]).error
    'not an error by the rules: omission: 1 stated, 0 found'
    """
    for error in errors:
        if problem := _find_misquote(reference, candidate, error):
            return CheckResult("", problem)
    reports = (_fully_parsed(reference), _fully_parsed(candidate))
    if {_error_type(tag) for tag in criteria.tags} == set(ERROR_TAGS) and reports[0] and reports[1]:
        mismatch = _count_mismatch(reports[0], reports[1], counts)
        return CheckResult("", mismatch) if mismatch else CheckResult("exact", None)
    has_entity = [_has_missing_entity(reference, candidate, error) for error in errors]
    if False in has_entity:
        error = errors[has_entity.index(False)]
        quote = error.candidate or error.reference or ""
        return CheckResult("", f"not an error by its entities: {error.tag}: {quote[:80]} is in both reports")
    return CheckResult("entities" if True in has_entity else "quotes", None)


def _find_misquote(reference: str, candidate: str, error: ReportedError) -> str | None:
    reference, candidate = normalize_for_comparison(reference), normalize_for_comparison(candidate)
    expected, stated = (normalize_for_comparison(quote or "") for quote in (error.reference, error.candidate))
    if not expected and not stated:
        return f"nothing quoted: {error.tag}"
    if expected not in reference:
        return f"quote not in the reference: {error.tag}: {expected[:80]}"
    if stated not in candidate:
        return f"quote not in the candidate: {error.tag}: {stated[:80]}"
    if expected == stated or (not stated and expected in candidate) or (not expected and stated in reference):
        return f"quote in both reports: {error.tag}: {(expected or stated)[:80]}"
    return None


def _error_type(tag: str) -> str | None:
    """Return the RadCliQ error type of a tag, without significance, or None for other criteria."""
    tag = tag.removeprefix("significant_").removeprefix("insignificant_")
    return tag if tag in ERROR_TAGS else None


def _fully_parsed(report: str) -> AnnotatedReport | None:
    """Return the parsed report, or None if it may state more than its facts."""
    if len(report) > MAX_REPORT_CHARS:
        return None
    parsed = parse_report(report)
    has_body = any(sentence.section in BODY_SECTIONS for sentence in parsed.sentences)
    return parsed if has_body and is_fully_parsed(parsed) else None


def _count_mismatch(reference: AnnotatedReport, candidate: AnnotatedReport, counts: Mapping[str, int]) -> str | None:
    expected = to_radcliq_counts(count_errors(reference.facts, candidate.facts))
    for criterion in RADCLIQ_ERROR_TYPES:
        stated = sum(count for tag, count in counts.items() if _error_type(tag) == criterion.tag)
        if stated != expected[criterion.tag]:
            return f"not an error by the rules: {criterion.tag}: {stated} stated, {expected[criterion.tag]} found"
    return None


def _has_missing_entity(reference: str, candidate: str, error: ReportedError) -> bool | None:
    """Return True if the quote has an entity that the other report does not have; None if rules cannot decide."""
    error_type = _error_type(error.tag)
    if error_type == FALSE_PREDICTION:
        quote, other = error.candidate, reference
    elif error_type == OMISSION:
        quote, other = error.reference, candidate
    else:
        return None
    entities = {(name, kind) for name, kind in _entities(quote or "") if kind != "Anatomy"}
    return not entities <= _entities(other) if entities else None


@lru_cache(1_000)
def _entities(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(
        (entity.name.lower(), entity.type) for sentence in split_sentences(text) for entity in rule_entities(sentence)
    )
