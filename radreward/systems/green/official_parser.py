"""Parser that reproduces GREEN's published implementation, only for comparison with published numbers.

It misreads some answers: a count without a full stop is 0 errors, a blank line ends a section, labels in capital
letters are ignored, a missing section has no errors, and only one line of a duplicate category counts. One difference:
empty answers and counts above 1,000 give None. Enable it with `GreenTemplate(parser="official")`.
"""

from __future__ import annotations

import re

from radreward.prompts.parsing import MAX_COUNT
from radreward.systems.green.parser import GreenAnswer, ParsedCount, answer_from_counts

NUM_CATEGORIES = 6
_COUNT = re.compile(r"(?<=: )(\d{1,18})\.")
_LEADING_COUNT = re.compile(r"(\d{1,18})\.")


def parse_like_official(text: str) -> GreenAnswer:
    r"""Parse an answer with GREEN's six categories without raising. Missing counts are 0.

    >>> text = "[Clinically Significant Errors]:\n(a) False: 2. X; Y\n(b) Missing: 1\n\n[Matched Findings]:\n2. A; B"
    >>> answer = parse_like_official(text)
    >>> answer.significant, answer.num_matched, answer.green
    ((2, 0, 0, 0, 0, 0), 2, 0.5)
    """
    matched = _LEADING_COUNT.match(_section(text, "Matched Findings"))
    counts = [
        *_counts(_section(text, "Clinically Significant Errors")),
        *_counts(_section(text, "Clinically Insignificant Errors")),
        int(matched[1]) if matched else 0,
    ]
    is_empty = not text.strip()
    errors = ["empty" if is_empty else f"too large: {count}" if count > MAX_COUNT else None for count in counts]
    parsed = [ParsedCount(None if error else count, error) for count, error in zip(counts, errors, strict=True)]
    return answer_from_counts(parsed, None, next(filter(None, errors), None))


def _section(text: str, name: str) -> str:
    """Return the text between the first heading of that name and the first blank line, or "" without a heading."""
    _, heading, rest = text.partition(f"[{name}]:")
    lines: list[str] = []
    for line in rest.lstrip().split("\n") if heading else ():
        if not line.strip() and lines:
            break
        lines.append(line)
    return "\n".join(lines)


def _counts(section: str) -> tuple[int, ...]:
    counts = [0] * NUM_CATEGORIES
    if section.startswith("No"):
        return tuple(counts)
    for labels in ("abcdef", "123456"):
        lines = sorted(part for line in section.split("\n") if (part := _from_label(line, labels)))
        for line in lines:  # sorted by text, so that the last line of a category counts
            if match := _COUNT.search(line):
                counts[labels.index(line[1])] = int(match[1])
        if lines:
            break
    return tuple(counts)


def _from_label(line: str, labels: str) -> str:
    """Return the part of the line from its first label, such as "(a) ", or "" without a label."""
    starts = [start for label in labels if (start := line.find(f"({label}) ")) >= 0]
    return line[min(starts) :] if starts else ""
