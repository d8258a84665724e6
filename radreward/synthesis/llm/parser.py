"""Answers of a writer, read: sections, errors with the words they are about, counts. Nothing is guessed."""

from __future__ import annotations

import re
from typing import NamedTuple

from radreward.criteria import Criteria

MAX_CHARACTERS = 100_000
"""Characters of an answer that are read; a longer one is none that was asked for."""
_HEADING = re.compile(
    r"^[^\S\n]{0,8}[*#>]{0,8}[^\S\n]{0,8}\[(candidate|explanation|reasoning|errors|counts|matched)\][*:]{0,4}",
    re.I | re.M,
)
_CODE_FENCE = re.compile(r"^[^\S\n]*+(?:```|~~~)[^\n]*$", re.M)
_LIST_MARKER = re.compile(r"^(?:[-*•]\s+|\(?\d{1,2}[.)]\s+)?")
_COUNT = re.compile(r"\d{1,3}(?:\.0{1,3})?")
_EMPTY_ANSWERS = frozenset({"", "-", "none", "n/a", "no errors", "no error", "nothing"})
_QUOTES = str.maketrans({**dict.fromkeys("\u201c\u201d\u201e\u201f", '"'), "\u2019": "'", "\u2018": "'"})


class ReportedError(NamedTuple):
    """An error as the writer states it."""

    tag: str
    reference: str | None
    """Words of the reference, or None where it says nothing of it."""
    candidate: str | None
    """Words of the candidate."""
    description: str
    """What is wrong, in words; may be empty."""


class GeneratedReport(NamedTuple):
    """An answer, read."""

    candidate: str
    """The report; empty where none was asked for."""
    explanation: str
    """The explanation or the reasoning; empty where none was asked for."""
    counts: dict[str, int]
    """Errors by tag, one for each criterion; those that could be read where the status is not "ok"."""
    errors: tuple[ReportedError, ...]
    matched: tuple[str, ...]
    error: str | None
    """Why the answer cannot be used: the kind, a colon and what it is about; None where it can."""


def parse_generated(answer: str, sections: tuple[str, ...], criteria: Criteria) -> GeneratedReport:
    r"""What an answer says, whatever stands before its first heading; never raises, in linear time.

    Args:
        answer: What the model said.
        sections: What was asked for, of candidate, explanation, reasoning, errors and matched; counts always.
        criteria: By what errors are named.

    >>> from radreward.criteria import Criterion
    >>> one = Criteria("one", [Criterion("omission", "Missing.")])
    >>> answer = 'Sure!\n[Candidate]\nClear lungs.\n[Errors]\nomission | "No edema." | none | left out\n'
    >>> answer += "[Counts]\nomission: 1"
    >>> found = read_written(answer, ("candidate", "errors"), one)
    >>> found.candidate, found.counts, found.errors[0].reference, found.problem
    ('Clear lungs.', {'omission': 1}, 'No edema.', None)
    >>> read_written("I cannot do that.", ("candidate", "errors"), one).problem
    'no section: candidate'
    """
    if len(answer) > MAX_CHARACTERS:
        return _rejected(f"too long: {len(answer)} characters")
    text = _CODE_FENCE.sub("", answer.replace("\r\n", "\n").replace("\r", "\n"))
    starts = list(_HEADING.finditer(text))
    found: dict[str, str] = {}
    for start, end in zip(starts, [*(entry.start() for entry in starts[1:]), len(text)], strict=False):
        name = start[1].lower()
        if name in found:
            return _rejected(f"section twice: {name}")
        found[name] = text[start.end() : end].strip()
    for name in (*sections, "counts"):
        if name not in found or (name not in ("errors", "matched") and not found[name]):
            return _rejected(f"no section: {name}")
    counts, problem = _parse_counts(found["counts"], criteria)
    errors, broken = _parse_errors(found.get("errors", ""), criteria)
    return GeneratedReport(
        " ".join(found["candidate"].split()) if "candidate" in sections else "",
        found.get("explanation", "") or found.get("reasoning", ""),
        counts,
        errors,
        _parse_matched(found.get("matched", "")),
        problem or broken or _find_disagreement(counts, errors, criteria),
    )


def _rejected(error: str) -> GeneratedReport:
    return GeneratedReport("", "", {}, (), (), error)


def _to_tag(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _parse_counts(text: str, criteria: Criteria) -> tuple[dict[str, int], str | None]:
    counts: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        name, _, value = _LIST_MARKER.sub("", line).rpartition(":")
        tag = _to_tag(name)
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
        tag = _to_tag(parts[0])
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
    """Whether there are not as many errors as are counted; of a yes or no there may be several."""
    for criterion in criteria.criteria:
        stated = sum(error.tag == criterion.tag for error in errors)
        count = counts[criterion.tag]
        if stated != count and not (criterion.kind == "binary" and count == 1 and stated > 1):
            return f"counts and errors differ: {criterion.tag}: {count} counted, {stated} stated"
    return None


def normalize_for_comparison(text: str) -> str:
    """A text by which words are compared: without case, white space, kinds of quotes, and stops at its ends.

    >>> same_words(" No  Edema. ")
    'no edema'
    """
    return " ".join(text.translate(_QUOTES).casefold().split()).strip(" .,;:")
