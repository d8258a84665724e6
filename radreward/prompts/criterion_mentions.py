"""Criteria that a text mentions."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.criteria import Criteria


def mentioned_criteria(text: str | None, criteria: Criteria) -> tuple[bool, ...]:
    """Return one bool per criterion: True if a text mentions its name or its tag.

    If one name contains another, only the longer one counts: "omission of comparison" does not mention "omission".

    >>> from radreward.criteria import Criterion
    >>> two = Criteria("two", [Criterion("omission", "Left out."), Criterion("omission of comparison", "Likewise.")])
    >>> mentioned_criteria("Step 1: Omission of comparison: none", two)
    (False, True)
    >>> mentioned_criteria(None, two)
    (False, False)
    """
    groups = {match.lastgroup for match in _criteria_pattern(criteria.tags).finditer(text or "")}
    return tuple(f"c{index}" in groups for index in range(len(criteria)))


@lru_cache(16)
def _criteria_pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of all names, longer ones first; the groups c0, c1, … are the criteria."""
    names = [r"[\W_]{1,3}".join(map(re.escape, tag.split("_"))) for tag in tags]
    order = sorted(range(len(tags)), key=lambda index: -len(tags[index]))
    alternatives = "|".join(f"(?P<c{index}>{names[index]})" for index in order)
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)
