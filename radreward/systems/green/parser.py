"""Parser of answers in GREEN's format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from radreward.criteria import Criteria, Criterion
from radreward.prompts.generative_template import one_line
from radreward.prompts.parsing import MAX_CHARACTERS, ParsedAnswer, parse_count
from radreward.systems.green.categories import (
    EXPLANATION,
    HEADINGS,
    INSIGNIFICANT_ERRORS,
    MATCHED_FINDINGS,
    SIGNIFICANT_ERRORS,
    error_categories,
)
from radreward.systems.green.score import green_score

_MATCHED_CRITERION = Criterion("matched findings", "Findings that both reports have.")
_BULLETS = " \t*#>_-•"
_LABEL = re.compile(r"[\s*_•-]{0,8}(?:\(([a-z]|\d{1,3})\)|([a-z]|\d{1,3})[.)](?=\s))[*_]{0,4}\s*", re.I | re.ASCII)
_LEADING_COUNT = re.compile(r"\s*[*_]{0,4}([+-]?[A-Za-z0-9.+-]{1,24})")
_SECOND_LIST_ITEM = re.compile(r"\n[\s*_•-]{0,8}\(?2[.)]\s")
"""Second item of a numbered list: the 1 before it is a list number and not a count."""
_NONE_WORDS = frozenset({"no", "none", "n/a", "nothing"})
_FILLER_WORDS = (
    "applicable are candidate clinically detected error errors finding findings found in insignificant identified "
    "match matched noted present report reported significant the there was were"
)
_NO_ERROR_WORDS = _NONE_WORDS | frozenset(_FILLER_WORDS.split())
"""All words of a line that states no errors. With another word, "no" may start an error: "no effusion seen"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenAnswer:
    """A parsed answer with K categories; counts are None if unparsable."""

    significant: tuple[float | None, ...]
    """(K,) clinically significant errors."""
    insignificant: tuple[float | None, ...]
    """(K,) clinically insignificant errors."""
    num_matched: float | None
    """Number of findings in both reports."""
    explanation: str | None
    error_texts: tuple[tuple[str, ...], ...]
    """(2 K) descriptions of the errors, significant ones first."""
    matched_findings: tuple[str, ...]
    """Descriptions of the matched findings."""
    parse_errors: tuple[str | None, ...]
    """(2 K + 1) reasons why a count is None: significant, insignificant, matched."""
    format_error: str | None
    """First deviation from the requested format."""

    @property
    def green(self) -> float | None:
        """The score; None if one of its counts is None."""
        counts = [count for count in self.significant if count is not None]
        if self.num_matched is None or len(counts) < len(self.significant):
            return None
        return green_score(self.num_matched, counts)


class ParsedCount(NamedTuple):
    """A count with the descriptions listed after it, or the reason why it is None."""

    value: float | None
    error: str | None
    items: tuple[str, ...] = ()


def parse_green(text: str, categories: Sequence[Criterion]) -> GreenAnswer:
    """Parse an answer with K categories without raising, in time linear in its length.

    A heading starts a line. In a section, each category has one line: its label (a letter of any case, or a number) or
    its name, then a colon and a count, with or without a full stop. Other lines and blank lines belong to the line
    before them. A category that is not listed has no errors if other categories are listed, or if the section states
    that there are no errors. A count is None if its category occurs twice, a numbered list replaces it, or its section
    is missing or empty.
    """
    k = len(categories)
    if len(text) > MAX_CHARACTERS or not text.strip():
        reason = f"too long: {len(text)} characters" if text.strip() else "empty"
        return answer_from_counts([ParsedCount(None, reason)] * (2 * k + 1), None, reason)
    sections, duplicates = _split_sections(text)
    counts: list[ParsedCount] = []
    unknown_category = None
    for heading in (SIGNIFICANT_ERRORS, INSIGNIFICANT_ERRORS):
        if error := _section_error(heading, sections, duplicates):
            counts += [ParsedCount(None, error)] * k
        else:
            section, unknown = _parse_section(sections[heading], categories)
            counts += section
            unknown_category = unknown_category or unknown
    counts.append(_parse_matched(sections, duplicates))
    format_error = unknown_category or next((count.error for count in counts if count.error), None)
    if EXPLANATION not in sections:
        return answer_from_counts(counts, None, format_error or f"section missing: {EXPLANATION}")
    return answer_from_counts(counts, one_line(" ".join(sections[EXPLANATION])), format_error)


def answer_from_counts(counts: Sequence[ParsedCount], explanation: str | None, format_error: str | None) -> GreenAnswer:
    """Return the answer with these 2 K + 1 counts: significant errors, insignificant errors, matched findings."""
    *errors, matched = counts
    k = len(errors) // 2
    return GreenAnswer(
        significant=tuple(count.value for count in errors[:k]),
        insignificant=tuple(count.value for count in errors[k:]),
        num_matched=matched.value,
        explanation=explanation,
        error_texts=tuple(count.items for count in errors),
        matched_findings=matched.items,
        parse_errors=tuple(count.error for count in counts),
        format_error=format_error,
    )


def counts_by_criteria(answer: GreenAnswer, criteria: Criteria) -> ParsedAnswer:
    r"""Return the counts of an answer per criterion.

    The sections are added if significance does not split the criteria.

    >>> from radreward.criteria import RadCliQCriteria
    >>> text = "[Clinically Significant Errors]:\n(b) Missing: 2\n\n[Clinically Insignificant Errors]:\n(B) X: 1"
    >>> criteria = RadCliQCriteria()
    >>> answer = parse_green(text + "\n\n[Matched Findings]:\n1. A", criteria.criteria)
    >>> counts_by_criteria(answer, criteria).values
    (0.0, 3.0, 0.0, 0.0, 0.0, 0.0)
    """
    categories, split = error_categories(criteria)
    k = len(categories)
    if split:
        counts, errors = (*answer.significant, *answer.insignificant), answer.parse_errors[: 2 * k]
        return ParsedAnswer(counts, errors, answer.explanation, answer.format_error)
    sums: list[float | None] = []
    reasons: list[str | None] = []
    for index, category in enumerate(categories):
        significant, insignificant = answer.significant[index], answer.insignificant[index]
        value = None if significant is None or insignificant is None else significant + insignificant
        reason = answer.parse_errors[index] or answer.parse_errors[k + index]
        if value is not None and value > 1 and category.kind == "binary":
            value, reason = None, f"too large: {value:g}"
        sums.append(value)
        reasons.append(reason)
    named = (f"{category.tag}: {reason}" for category, reason in zip(categories, reasons, strict=True) if reason)
    return ParsedAnswer(tuple(sums), tuple(reasons), answer.explanation, answer.format_error or next(named, None))


def _split_sections(text: str) -> tuple[dict[str, list[str]], set[str]]:
    """Return the lines of each section, and the headings that occur twice."""
    sections: dict[str, list[str]] = {}
    duplicates: set[str] = set()
    lines: list[str] = []
    for line in text.splitlines():
        heading, rest = _match_heading(line)
        if heading:
            duplicates |= {heading} & set(sections)
            sections[heading] = lines = [rest] if rest else []
        else:
            lines.append(line)
    return sections, duplicates


def _match_heading(line: str) -> tuple[str, str]:
    """Return the heading that a line starts with, if any, and the rest of the line."""
    bare = line.lstrip(_BULLETS)
    lowercase = bare[:60].lower()
    for heading in HEADINGS:
        if lowercase.startswith(f"[{heading}]"):
            return heading, bare[len(heading) + 2 :].lstrip(" \t*_:")
        if lowercase.startswith(heading) and not bare[len(heading) :].strip(" \t*_:"):
            return heading, ""
    return "", ""


def _section_error(heading: str, sections: dict[str, list[str]], duplicates: set[str]) -> str | None:
    if heading in duplicates:
        return f"section twice: {heading}"
    return None if heading in sections else f"section missing: {heading}"


def _parse_section(lines: list[str], categories: Sequence[Criterion]) -> tuple[list[ParsedCount], str | None]:
    """Return the count of each category, and an error if the section lists an unknown category."""
    (_, preamble), *entries = _split_entries(lines, categories)
    if not entries and not _states_none(preamble.strip()):
        error = "no counts in the section" if preamble.strip() else "empty section"
        return [ParsedCount(None, error)] * len(categories), None
    counts: dict[int, ParsedCount] = {}
    for category, text in entries:
        if isinstance(category, str):
            error = f"unknown category: {category}"
            return [ParsedCount(None, error)] * len(categories), error
        if category in counts:
            counts[category] = counts[category]._replace(value=None, error="twice")
        else:
            counts[category] = _parse_count_line(text, categories[category])
    return [counts.get(index, ParsedCount(0.0, None)) for index in range(len(categories))], None


def _split_entries(lines: list[str], categories: Sequence[Criterion]) -> Iterator[tuple[int | str, str]]:
    """Yield the text before the first entry, then each entry: its category, or its unknown label, and its lines."""
    names = {name: index for index, category in enumerate(categories) for name in (category.name.lower(), category.tag)}
    key: int | str = -1
    parts: list[str] = []
    for line in lines:
        match = _LABEL.match(line)
        name = line.lstrip(_BULLETS).partition(":")[0].strip(" *_").lower() if ":" in line[:120] else ""
        if match and ":" in line:
            yield key, "\n".join(parts)
            label = (match[1] or match[2]).lower()
            index = int(label) - 1 if label.isdigit() else ord(label) - ord("a")
            key, parts = (index if 0 <= index < len(categories) else f"({label})"), [line[match.end() :]]
        elif name in names:
            yield key, "\n".join(parts)
            key, parts = names[name], [line]
        else:
            parts.append(line.strip())
    yield key, "\n".join(parts)


def _parse_count_line(text: str, category: Criterion) -> ParsedCount:
    """Parse the count after the label of a category, and the errors listed after it."""
    colon = text.find(":", len(category.name) if text.lower().startswith(f"{category.name.lower()}:") else 0)
    while colon >= 0:
        count = _parse_leading_count(text[colon + 1 :], category)
        colon = text.find(":", colon + 1)
        if count.value is not None or colon < 0 or colon > 120:
            return count
    return ParsedCount(None, "no count")


def _parse_leading_count(text: str, category: Criterion) -> ParsedCount:
    if _states_none(text):
        return ParsedCount(0.0, None)
    match = _LEADING_COUNT.match(text)
    if not match:
        return ParsedCount(None, "no count")
    number = match[1].rstrip(".")
    value, error = parse_count(number, category)
    if value is not None and value != int(value):
        value, error = None, f"no whole number: {number!r}"
    if value == 1 and _SECOND_LIST_ITEM.search(text, match.end()):
        value, error = None, "a numbered list and no count"
    items = text[match.end() :].lstrip(" *_.:\n") if value else ""
    return ParsedCount(value, error, _split_items(items))


def _states_none(text: str) -> bool:
    words = text[:200].lower().replace(",", " ").strip(" *_.").split()
    return bool(words) and words[0] in _NONE_WORDS and _NO_ERROR_WORDS.issuperset(words) and len(text) <= 200


def _split_items(text: str) -> tuple[str, ...]:
    items = (one_line(part).removesuffix(".").strip() for part in text.split(";"))
    return tuple(item for item in items if item)


def _parse_matched(sections: dict[str, list[str]], duplicates: set[str]) -> ParsedCount:
    if error := _section_error(MATCHED_FINDINGS, sections, duplicates):
        return ParsedCount(None, error)
    text = "\n".join(line.strip() for line in sections[MATCHED_FINDINGS]).strip()
    if not text:
        return ParsedCount(None, "empty section")
    count = _parse_leading_count(text, _MATCHED_CRITERION)
    return count._replace(error=count.error and f"matched findings: {count.error}")
