"""Which criteria a text speaks of."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.criteria import Criteria


def mentioned_criteria(text: str | None, criteria: Criteria) -> tuple[bool, ...]:
    """Whether a text names each criterion, by its words in their order or by its tag; (N,).

    Of names that hold others, the longest is meant: "omission of comparison" does not speak of "omission".

    >>> from radreward.criteria import Criterion
    >>> two = Criteria("two", [Criterion("omission", "Left out."), Criterion("omission of comparison", "Likewise.")])
    >>> discussed("Step 1: Omission of comparison: none", two)
    (False, True)
    >>> discussed(None, two)
    (False, False)
    """
    found = {match.lastgroup for match in _criteria_pattern(criteria.tags).finditer(text or "")}
    return tuple(f"c{number}" in found for number in range(len(criteria)))


@lru_cache(16)
def _criteria_pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    """Finds names; the group c0, c1, … tells of which criterion. Longer ones are tried first."""
    named = {tag: r"[\W_]{1,3}".join(map(re.escape, tag.split("_"))) for tag in tags}
    numbered = [f"(?P<c{number}>{named[tag]})" for number, tag in enumerate(tags)]
    order = sorted(range(len(tags)), key=lambda number: -len(tags[number]))
    return re.compile(r"\b(?:" + "|".join(numbered[number] for number in order) + r")\b", re.IGNORECASE)
