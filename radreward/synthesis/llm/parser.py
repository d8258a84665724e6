"""Strict parser of the answers of a language model: sections, errors with quotes, and counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from radreward.criteria import Criteria, Criterion
from radreward.prompts.parsing import MAX_CHARACTERS, without_code_fences

_HEADING = re.compile(
    r"^[^\S\n]{0,8}[*#>]{0,8}[^\S\n]{0,8}\[(candidate|explanation|reasoning|errors|counts|matched)\][*:]{0,4}",
    re.I | re.M,
)
_LIST_MARKER = re.compile(r"^(?:[-*•]\s+|\(?\d{1,2}[.)]\s+)?")
_COUNT = re.compile(r"\d{1,3}(?:\.0{1,3})?")
_EMPTY_ANSWERS = frozenset({"", "-", "none", "n/a", "no errors", "no error", "nothing"})
_QUOTES = str.maketrans({**dict.fromkeys("\u201c\u201d\u201e\u201f", '"'), "\u2019": "'", "\u2018": "'"})


class ReportedError(NamedTuple):
    """An error that the language model reports."""

    tag: str
    reference: str | None
    """Quote of the reference, or None."""
    candidate: str | None
    """Quote of the candidate, or None."""
    description: str
    """May be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedReport:
    """A parsed answer."""

    candidate: str = ""
    """The report, if requested."""
    explanation: str = ""
    """The explanation or reasoning, if requested."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of errors by tag; incomplete if `error` is not None."""
    errors: tuple[ReportedError, ...] = ()
    matched: tuple[str, ...] = ()
    error: str | None = None
    """Reason why the answer is rejected (kind and detail), or None."""


def parse_generated(answer: str, sections: tuple[str, ...], criteria: Criteria) -> GeneratedReport:
    r"""Parse an answer in linear time; never raises. Text before the first heading is ignored.

    Args:
        answer: Answer of the model.
        sections: Requested sections: any of candidate, explanation, reasoning, errors and matched. Counts are always
            required.
        criteria: Criteria of the errors.

    >>> from radreward.criteria import Criterion
    >>> criteria = Criteria("one", [Criterion("omission", "Missing.")])
    >>> answer = 'Sure!\n[Candidate]\nClear lungs.\n[Errors]\nomission | "No edema." | none | left out\n'
    >>> answer += "[Counts]\nomission: 1"
    >>> parsed = parse_generated(answer, ("candidate", "errors"), criteria)
    >>> parsed.candidate, parsed.counts, parsed.errors[0].reference, parsed.error
    ('Clear lungs.', {'omission': 1}, 'No edema.', None)
    >>> parse_generated("I cannot do that.", ("candidate", "errors"), criteria).error
    'no section: candidate'
    """
    if len(answer) > MAX_CHARACTERS:
        return GeneratedReport(error=f"too long: {len(answer)} characters")
    text = without_code_fences(answer)
    headings = list(_HEADING.finditer(text))
    parts: dict[str, str] = {}
    for heading, end in zip(headings, [*(entry.start() for entry in headings[1:]), len(text)], strict=False):
        name = heading[1].lower()
        if name in parts:
            return GeneratedReport(error=f"section twice: {name}")
        parts[name] = text[heading.end() : end].strip()
    for name in (*sections, "counts"):
        if name not in parts or (name not in ("errors", "matched") and not parts[name]):
            return GeneratedReport(error=f"no section: {name}")
    counts, count_error = _parse_counts(parts["counts"], criteria)
    errors, line_error = _parse_errors(parts.get("errors", ""), criteria)
    return GeneratedReport(
        candidate=" ".join(parts["candidate"].split()) if "candidate" in sections else "",
        explanation=parts.get("explanation", "") or parts.get("reasoning", ""),
        counts=counts,
        errors=errors,
        matched=_parse_matched(parts.get("matched", "")),
        error=count_error or line_error or _find_disagreement(counts, errors, criteria),
    )


def _parse_counts(text: str, criteria: Criteria) -> tuple[dict[str, int], str | None]:
    counts: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        name, _, value = _LIST_MARKER.sub("", line).rpartition(":")
        tag = Criterion(name, "").tag
        if tag not in criteria.tags:
            return counts, f"unknown criterion: {line[:80]}"
        if tag in counts:
            return counts, f"count twice: {tag}"
        if not _COUNT.fullmatch(value.strip(" *")):
            return counts, f"no count: {line[:80]}"
        counts[tag] = int(float(value.strip(" *")))
    for criterion in criteria.criteria:
        if criterion.tag not in counts:
            return counts, f"missing count: {criterion.tag}"
        if criterion.kind == "binary" and counts[criterion.tag] > 1:
            return counts, f"count outside the set: {criterion.tag}: {counts[criterion.tag]}, not 0 or 1"
    return counts, None


def _parse_errors(text: str, criteria: Criteria) -> tuple[tuple[ReportedError, ...], str | None]:
    errors: list[ReportedError] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line.strip(" .*").lower() in _EMPTY_ANSWERS:
            continue
        parts = _LIST_MARKER.sub("", line).strip("| ").split("|", 3)
        if len(parts) < 3:
            return tuple(errors), f"broken error: {line[:80]}"
        tag = Criterion(parts[0], "").tag
        if tag not in criteria.tags:
            return tuple(errors), f"unknown criterion: {line[:80]}"
        errors.append(ReportedError(tag, _unquote(parts[1]), _unquote(parts[2]), "".join(parts[3:]).strip()))
    return tuple(errors), None


def _unquote(part: str) -> str | None:
    words = part.strip()
    straight = words.translate(_QUOTES)
    if len(words) > 1 and straight[0] == straight[-1] == '"':
        words = words[1:-1].strip()
    return None if words.lower().strip(".") in _EMPTY_ANSWERS else words


def _parse_matched(text: str) -> tuple[str, ...]:
    lines = (_unquote(_LIST_MARKER.sub("", line.strip())) for line in text.split("\n"))
    return tuple(line for line in lines if line)


def _find_disagreement(counts: dict[str, int], errors: tuple[ReportedError, ...], criteria: Criteria) -> str | None:
    """Return the first criterion whose count differs from its reported errors; a binary one may have several errors."""
    for criterion in criteria.criteria:
        stated = sum(error.tag == criterion.tag for error in errors)
        count = counts[criterion.tag]
        if stated != count and not (criterion.kind == "binary" and count == 1 and stated > 1):
            return f"counts and errors differ: {criterion.tag}: {count} counted, {stated} stated"
    return None


def normalize_for_comparison(text: str) -> str:
    """Return a text in lowercase with straight quotes and single spaces, without punctuation at both ends.

    >>> normalize_for_comparison(" No  “EDEMA”. ")
    'no "edema"'
    """
    return " ".join(text.translate(_QUOTES).casefold().split()).strip(" .,;:")
