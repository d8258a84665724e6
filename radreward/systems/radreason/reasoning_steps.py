"""The errors that reasons name, criterion by criterion."""

from __future__ import annotations

import re

from radreward.criteria import Criteria
from radreward.prompts.generative_template import one_line

_STEP = re.compile(r"[\W_]{0,8}(?:step\s{0,3}\d{1,3}[\W_]{1,8})?", re.IGNORECASE)
_NO_ERROR = frozenset({"", "no", "none", "n/a", "nothing", "no error", "no errors"})


def errors_per_step(reasoning: str | None, criteria: Criteria) -> tuple[tuple[str, ...], ...]:
    r"""(N,) the errors in words of each criterion: what stands behind its name and a colon, parted by semicolons.

    A line names a criterion where it begins with it, after "Step 3:" or not. Reasons of another form name none. Linear
    in the length of the text.

    >>> from radreward.criteria import Criterion
    >>> two = Criteria("two", [Criterion("omission", "Left out."), Criterion("wrong place", "Elsewhere.")])
    >>> errors_in_steps("Compared.\nStep 1: omission: none\nStep 2: Wrong place: Left, not right; lower lobe", two)
    ((), ('Left, not right', 'lower lobe'))
    """
    places = {name: place for place, entry in enumerate(criteria.criteria) for name in (entry.name.lower(), entry.tag)}
    found: list[list[str]] = [[] for _ in criteria.criteria]
    for line in (reasoning or "").splitlines():
        mark = _STEP.match(line)
        name, colon, words = line[mark.end() if mark else 0 :].partition(":")
        place = places.get(name.strip(" \t*_").lower())
        if colon and place is not None:
            parts = (one_line(part).strip("*_ ").removesuffix(".") for part in words.split(";"))
            found[place] += [part for part in parts if part.lower() not in _NO_ERROR]
    return tuple(map(tuple, found))
