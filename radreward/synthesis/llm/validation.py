"""Whether the errors that a writer states are there, as far as rules can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from radreward.criteria import ERROR_TYPES, Criteria
from radreward.synthesis.error_counting import FALSE, MISSING, TYPES, count_errors, radcliq_errors
from radreward.synthesis.llm.parser import StatedError, same_words
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.report_parser import LONGEST, annotate, wholly_read

LEVELS = {
    "exact": "both reports were read wholly, and have as many errors of every type",
    "entities": "an error that adds or leaves out a finding has an entity that the other report does not have",
    "quotes": "the quoted words stand where they are said to, and nothing more could be told",
}
"""How far a sample was checked, the farthest first."""
_SIGNIFICANCE = ("significant_", "insignificant_")


class Report(NamedTuple):
    """What a check found."""

    level: str
    """One of `LEVELS`; empty where there is a problem."""
    problem: str | None


def check(
    criteria: Criteria, reference: str, candidate: str, counts: Mapping[str, int], errors: Sequence[StatedError]
) -> Report:
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
        if problem := _misquoted(reference, candidate, error):
            return Report("", problem)
    if problem := _other_counts(criteria, reference, candidate, counts):
        return Report("", problem)
    if _read_by_rules(criteria, reference, candidate):
        return Report("exact", None)
    told = [_entity_told(reference, candidate, error) for error in errors]
    if False in told:
        error = errors[told.index(False)]
        words = error.candidate or error.reference or ""
        return Report("", f"not an error by its entities: {error.tag}: {words[:80]} is in both reports")
    return Report("entities" if True in told else "quotes", None)


def _misquoted(reference: str, candidate: str, error: StatedError) -> str | None:
    ours, theirs = same_words(reference), same_words(candidate)
    one, other = same_words(error.reference or ""), same_words(error.candidate or "")
    if not one and not other:
        return f"nothing quoted: {error.tag}"
    if one not in ours:
        return f"quote not in the reference: {error.tag}: {one[:80]}"
    if other not in theirs:
        return f"quote not in the candidate: {error.tag}: {other[:80]}"
    if one == other or (not other and one in theirs) or (not one and other in ours):
        return f"quote in both reports: {error.tag}: {(one or other)[:80]}"
    return None


def _type(tag: str) -> str | None:
    """Which of the six types of error a tag is, of whatever significance."""
    for prefix in _SIGNIFICANCE:
        tag = tag.removeprefix(prefix)
    return tag if tag in TYPES else None


def _read_by_rules(criteria: Criteria, reference: str, candidate: str) -> bool:
    known = {_type(tag) for tag in criteria.tags}
    return known == set(TYPES) and _facts_known(reference) and _facts_known(candidate)


def _facts_known(report: str) -> bool:
    if len(report) > LONGEST:
        return False
    read = annotate(report)
    return wholly_read(read) and any(entry.section in ("findings", "impression") for entry in read.sentences)


def _other_counts(criteria: Criteria, reference: str, candidate: str, counts: Mapping[str, int]) -> str | None:
    if not _read_by_rules(criteria, reference, candidate):
        return None
    found = radcliq_errors(count_errors(annotate(reference).facts, annotate(candidate).facts))
    for entry in ERROR_TYPES:
        stated = sum(count for tag, count in counts.items() if _type(tag) == entry.tag)
        if stated != found[entry.tag]:
            return f"not an error by the rules: {entry.tag}: {stated} stated, {found[entry.tag]} found"
    return None


def _entity_told(reference: str, candidate: str, error: StatedError) -> bool | None:
    """Whether a finding that is added or left out is not in the other report; None where rules cannot tell."""
    words, other = {FALSE: (error.candidate, reference), MISSING: (error.reference, candidate)}.get(
        _type(error.tag) or "", (None, "")
    )
    if words is None:
        return None
    said = {entity for entity in _entities(words) if entity[1] != "Anatomy"}
    return not said <= _entities(other) if said else None


@lru_cache(1_000)
def _entities(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((entity.name.lower(), entity.type) for entity in RuleTagger().tag_reports([text])[0])
