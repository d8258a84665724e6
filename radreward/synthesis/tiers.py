"""Tiers of candidates: ranges of errors or of points lost (ER²Score, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.errors import InputError

TIER_ERRORS = ((0, 2), (3, 4), (5, 6))
"""Range of errors of a good, a fair and a bad candidate (ER²Score, section 3.1)."""


class Tier(NamedTuple):
    """A tier of candidates: a range of `error_severity` with an inclusive upper bound."""

    name: str
    min_severity: float
    max_severity: float
    min_inclusive: bool
    description: str
    """The errors of the tier in words, for prompts."""

    def contains(self, severity: float) -> bool:
        """Return True if a candidate with this severity belongs to the tier."""
        above = severity >= self.min_severity - 1e-6 if self.min_inclusive else severity > self.min_severity + 1e-6
        return above and severity <= self.max_severity + 1e-6


def error_severity(criteria: Criteria, errors: Mapping[str, float]) -> float:
    """Return the number of errors, or their weighted sum if all criteria are binary.

    >>> from radreward.criteria import Criterion
    >>> error_severity(Criteria("one", [Criterion("grammar", "Bad.", "binary", 5)]), {"grammar": 1})
    5.0
    """
    return criteria.weighted_errors(errors) if is_weighted(criteria) else sum(criteria.to_list(errors))


def severity_tiers(criteria: Criteria) -> tuple[Tier, ...]:
    """Return the tiers good, fair and bad: 0-2, 3-4 and 5-6 errors (ER²Score, section 3.1).

    If all criteria are binary, they are the tiers of MRScore: at least 70 %, at least 40 % and less than 40 % of the
    points. Tiers that no combination of errors reaches are excluded.

    Raises:
        InputError: If errors reach fewer than two tiers.

    >>> from radreward.criteria import MRScoreCriteria, RadCliQCriteria
    >>> [(tier.name, tier.min_severity, tier.max_severity) for tier in severity_tiers(RadCliQCriteria())]
    [('good', 0, 2), ('fair', 3, 4), ('bad', 5, 6)]
    >>> [tier.description for tier in severity_tiers(MRScoreCriteria())][1]
    'errors whose points add up to more than 30 and at most 60'
    """
    if not is_weighted(criteria):
        return tuple(
            Tier(name, low, high, True, f"{low} to {high} errors in all")
            for name, (low, high) in zip(("good", "fair", "bad"), TIER_ERRORS, strict=True)
        )
    points = sum(criterion.weight for criterion in criteria.criteria)
    low, middle, high = (round(fraction * points, 6) for fraction in (0.3, 0.6, 1.0))
    tiers = [
        Tier("good", 0.0, low, True, f"errors whose points add up to at most {low:g}; none is possible too"),
        Tier("fair", low, middle, False, _points_between(low, middle)),
        Tier("bad", middle, high, False, _points_between(middle, high)),
    ]
    reachable = _reachable_sums(criterion.weight for criterion in criteria.criteria)
    tiers = [tier for tier in tiers if any(tier.contains(value) for value in reachable)]
    if len(tiers) < 2:
        raise InputError(f"criteria {criteria.name}: Expected weights that separate good candidates from bad ones.")
    return tuple(tiers)


def is_weighted(criteria: Criteria) -> bool:
    """Return True if all criteria are binary, so that points count instead of errors."""
    return all(criterion.kind == "binary" for criterion in criteria.criteria)


def _points_between(low: float, high: float) -> str:
    return f"errors whose points add up to more than {low:g} and at most {high:g}"


def _reachable_sums(weights: Iterable[float]) -> set[float]:
    """Return the possible weighted sums of errors, or a sample of them if there are many."""
    sums = {0.0}
    for weight in weights:
        sums |= {round(value + weight, 6) for value in sums}
        if len(sums) > 2000:
            ordered = sorted(sums)
            sums = {*ordered[:: len(ordered) // 1000], ordered[-1]}
    return sums
