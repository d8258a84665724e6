"""Agreement of findings of two reports, as far as the vocabulary knows them."""

from __future__ import annotations

from functools import lru_cache

from radreward.text.facts import Fact
from radreward.text.findings import is_related, means_same_care
from radreward.text.locations import contains_location


def states_same_finding(first: Fact, second: Fact) -> bool:
    """Return True if two facts are about the same finding, and no detail of one contradicts the other.

    >>> left = Fact("effusion", location="left", severity="mild")
    >>> states_same_finding(left, Fact("effusion")), states_same_finding(left, Fact("effusion", location="right"))
    (True, False)
    """
    return (
        first.positive == second.positive
        and means_same_care(first.finding, second.finding)
        and (not first.location or not second.location or contains_location(first.location, second.location))
        and all(not a or not b or a == b for a, b in zip(first[3:], second[3:], strict=True))
    )


@lru_cache(100_000)
def known_agreement(first: tuple[Fact, ...], second: tuple[Fact, ...]) -> float | None:
    """Return 1 if two texts state the same finding, 0 if they state unrelated ones, None if their facts do not tell.

    Absent findings are ignored. The facts do not tell if a text has no other, or if related findings differ.

    >>> edema, scar, nodule, mass = ((Fact(key),) for key in ("edema", "scar", "nodule", "mass"))
    >>> known_agreement(edema, edema + scar), known_agreement(edema, scar)
    (1.0, 0.0)
    >>> known_agreement(nodule, mass), known_agreement(edema, ())
    (None, None)
    """
    pairs = [(own, other) for own in first if own.positive for other in second if other.positive]
    if any(states_same_finding(*pair) for pair in pairs):
        return 1.0
    is_unrelated = bool(pairs) and not any(is_related(own.finding, other.finding) for own, other in pairs)
    return 0.0 if is_unrelated else None
