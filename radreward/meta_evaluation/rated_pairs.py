"""Rated pairs as arrays: what scores are compared with, and what is odd about it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ratings = Mapping[str, float]
"""Rater → rating."""
Errors = Mapping[str, Mapping[str, float]]
"""Rater → criterion → how many errors."""

MEAN_RATER = "mean"
"""What a rater is called where a file tells one number for all."""
CRITERION_PREFIX = "criterion:"
"""How the names of targets begin that are of one criterion."""
TOTAL_TARGETS = {"errors": "Errors", "errors_significant": "Significant errors", "rating": "Rating"}
"""Targets over all criteria, and their titles."""
_MAX_SCALE_RATIO = 5.0
"""Raters whose ranges differ by more than this factor do not use one scale."""


class RatedPair(NamedTuple):
    """A candidate, its reference, and what people made of it."""

    id: str
    reference: str
    candidate: str
    """Empty where there is none."""
    group: str
    """The case: rows of a case are drawn together, because they are not independent."""
    system: str | None = None
    """Who or what wrote the candidate."""
    ratings: Ratings = {}
    """Higher is better; NaN where a rater gave none."""
    errors: Errors = {}
    """All errors; NaN where a rater gave none."""
    significant_errors: Errors = {}
    """Of these the clinically significant ones."""
    synthetic: bool = False
    """Whether the errors were made by rules and counted by them, so that nobody judged."""


class Target(NamedTuple):
    """What scores are compared with: a number for each pair."""

    name: str
    title: str
    higher_is_better: bool
    raters: tuple[str, ...]
    by_rater: Floats
    """(R, n), NaN where a rater gave none."""
    notes: tuple[str, ...]

    @property
    def values(self) -> Floats:
        """(n,) mean over the raters who gave one; NaN where nobody did."""
        given = ~np.isnan(self.by_rater)
        with np.errstate(invalid="ignore"):
            means: Floats = np.where(given, self.by_rater, 0).sum(0) / given.sum(0)
        return means


class RatedPairs:
    """Rows, and what is to be made of them.

    Args:
        rows: The pairs.
        notes: What was odd when they were read.

    Attributes:
        criteria: Of the error counts, in the order in which they were met.
        targets: What scores are compared with; those of a criterion are called "criterion:" and its name.
        notes: What is odd about the pairs, to be told wherever figures of them are.

    >>> row = RatedPair("a", "Clear lungs.", "Left effusion.", "a", None, {}, {"mean": {"omission": 0, "addition": 1}})
    >>> pairs = RatedPairs([row])
    >>> [(target.name, target.values.tolist()) for target in pairs.targets]
    [('errors', [1.0]), ('criterion:omission', [0.0]), ('criterion:addition', [1.0])]
    """

    def __init__(self, rows: Sequence[RatedPair], notes: Sequence[str] = ()) -> None:
        self.rows = list(rows)
        self.criteria = tuple(dict.fromkeys(tag for row in rows for tags in row.errors.values() for tag in tags))
        self.targets = tuple(self._build_targets())
        self.notes = (*notes, *self._warnings())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def cluster_ids(self) -> NDArray[np.int64]:
        """(n,) which case, numbered as they are met."""
        return _encode([row.group for row in self.rows])

    @property
    def systems(self) -> tuple[str, ...]:
        """Who wrote candidates, in alphabetical order."""
        return tuple(sorted({row.system for row in self.rows if row.system is not None}))

    @property
    def raters(self) -> tuple[str, ...]:
        """Who judged, in the order in which they are met."""
        return tuple(dict.fromkeys(rater for target in self.targets for rater in target.raters))

    def mean_errors(self, criterion: str, significant_only: bool = False) -> Floats:
        """(n,) mean errors by one criterion over the raters who counted; NaN where nobody did."""
        raters, values = self._errors_by_rater(
            lambda row: row.significant_errors if significant_only else row.errors, criterion
        )
        return Target(criterion, criterion, False, raters, values, ()).values

    def _build_targets(self) -> Iterator[Target]:
        yield from self._error_target("errors", lambda row: row.errors)
        yield from self._error_target("errors_significant", lambda row: row.significant_errors)
        raters = tuple(dict.fromkeys(rater for row in self.rows for rater in row.ratings))
        if raters:
            values = np.array([[row.ratings.get(rater, math.nan) for row in self.rows] for rater in raters], float)
            yield _with_warnings(Target("rating", TOTAL_TARGETS["rating"], True, raters, values, ()))
        for tag in self.criteria:
            title = tag[:1].upper() + tag[1:].replace("_", " ")
            yield from self._error_target(f"{CRITERION_PREFIX}{tag}", lambda row: row.errors, tag, title)

    def _error_target(
        self, name: str, errors_of: Callable[[RatedPair], Errors], tag: str | None = None, title: str | None = None
    ) -> Iterator[Target]:
        raters, values = self._errors_by_rater(errors_of, tag)
        if raters:
            yield _with_warnings(Target(name, title or TOTAL_TARGETS[name], False, raters, values, ()))

    def _errors_by_rater(
        self, errors_of: Callable[[RatedPair], Errors], tag: str | None
    ) -> tuple[tuple[str, ...], Floats]:
        """Errors by a criterion, or by all together, (R, n)."""
        raters = tuple(dict.fromkeys(rater for row in self.rows for rater in errors_of(row)))
        values = np.full((len(raters), len(self.rows)), np.nan)
        for place, row in enumerate(self.rows):
            for number, rater in enumerate(raters):
                if (given := errors_of(row).get(rater)) is not None:
                    values[number, place] = sum(given.values()) if tag is None else given.get(tag, math.nan)
        return raters, values

    def _warnings(self) -> Iterator[str]:
        if self.rows and not self.targets:
            yield "nobody rated these pairs: there is nothing to compare scores with"
        if len(self.raters) == 1 and self.raters != (MEAN_RATER,):
            yield "one rater only: how far people agree is not known"
        if empty := sum(not row.candidate.strip() for row in self.rows):
            yield f"{empty} pairs have no candidate, or an empty one"
        groups = {row.group for row in self.rows}
        seen = {(row.group, row.system) for row in self.rows if row.candidate.strip()}
        if self.systems and len(groups) > 1:
            per_case = Counter(system for _, system in seen)
            # Where systems share few cases it is no table of systems by cases, and nothing is missing.
            full = [system for system in self.systems if per_case[system] >= len(groups) / 2]
            for system in full:
                if missing := len(groups) - per_case[system]:
                    yield f"{missing} of {len(groups)} cases have no candidate of {system}"
        if synthetic := sum(row.synthetic for row in self.rows):
            yield f"{synthetic} pairs are SYNTHETIC: their errors were made and counted by rules, nobody rated them"


def _with_warnings(target: Target) -> Target:
    """With what is odd about it."""
    notes = []
    values = target.values
    missing, nobody = int(np.isnan(target.by_rater).sum()), int(np.isnan(values).sum())
    if nobody:
        notes.append(f"{nobody} of {len(values)} pairs have no value, and are left out")
    if len(target.raters) > 1 and missing > nobody * len(target.raters):
        notes.append("not every rater judged every pair; the mean is over those who did")
    known = values[~np.isnan(values)]
    if len(known) > 1 and (known == known[0]).all():
        notes.append(f"all values are {known[0]:g}: no correlation is defined")
    if target.name == "rating":
        notes += _scale_warnings(target)
    return target._replace(notes=tuple(notes))


def _scale_warnings(target: Target) -> Iterator[str]:
    """Whether raters, or one rater's ratings, seem not to be on one scale."""
    spans = {}
    for rater, given in zip(target.raters, target.by_rater, strict=True):
        values = np.unique(given[~np.isnan(given)])
        if len(values) > 1:
            spans[rater] = float(values[-1] - values[0]), f"{values[0]:g} to {values[-1]:g}"
        rising = values[values > 0]
        far = np.flatnonzero(rising[1:] > _MAX_SCALE_RATIO * rising[:-1])
        if any(place >= 2 and len(rising) - place > 3 for place in far.tolist()):
            yield f"mixed scale: the ratings of {rater!r} are {values[0]:g} to {values[-1]:g} with a gap between"
    if spans and max(spans.values())[0] > _MAX_SCALE_RATIO * min(spans.values())[0]:
        told = ", ".join(f"{rater!r} {span}" for rater, (_, span) in spans.items())
        yield f"mixed scale: the raters use different ranges ({told}), and the mean follows the widest"


def _encode(names: Sequence[str]) -> NDArray[np.int64]:
    number: dict[str, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
