"""Rated pairs, and the targets derived from them with which scores are compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from radreward.text.patient_context import NO_CONTEXT, PatientContext

Floats = NDArray[np.float64]
Ratings = Mapping[str, float]
"""Rater → rating."""
Errors = Mapping[str, Mapping[str, float]]
"""Rater → criterion → number of errors."""

MEAN_RATER = "mean"
"""Name of the rater in files with one number for all raters."""
CRITERION_PREFIX = "criterion:"
"""Prefix of the names of targets for single criteria."""
TOTAL_TARGETS = {"errors": "Errors", "errors_significant": "Significant errors", "rating": "Rating"}
"""Names and titles of the targets over all criteria."""
_MAX_SCALE_RATIO = 5.0
"""Raters whose ranges differ by a larger factor use different scales."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPair:
    """A candidate, its reference, and the judgements of raters.

    Attributes:
        id: Identifier, unique in a file.
        reference: Reference report.
        candidate: Candidate report; empty if missing.
        group: The case, such as a study. Pairs of a case are not independent and are resampled together.
        system: System that wrote the candidate, if known.
        ratings: Higher is better; NaN if a rater gave none.
        errors: All errors; NaN if a rater gave none.
        significant_errors: Clinically significant errors among `errors`.
        context: Age and indication of the patient, if known; some scorers use them.
        synthetic: True if a program generated and counted the errors.
    """

    id: str
    reference: str
    candidate: str
    group: str
    system: str | None = None
    ratings: Ratings = field(default_factory=dict)
    errors: Errors = field(default_factory=dict)
    significant_errors: Errors = field(default_factory=dict)
    context: PatientContext = NO_CONTEXT
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A number per pair with which scores are compared.

    Attributes:
        name: Name in files.
        title: Title in tables.
        higher_is_better: Direction of the values.
        raters: R names.
        by_rater: (R, n), NaN if a rater gave none.
        notes: Warnings about the values.
    """

    name: str
    title: str
    higher_is_better: bool
    raters: tuple[str, ...]
    by_rater: Floats
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> Floats:
        """(n,) mean over the raters with a value; NaN if none has one."""
        defined = ~np.isnan(self.by_rater)
        with np.errstate(invalid="ignore"):
            means: Floats = np.where(defined, self.by_rater, 0).sum(0) / defined.sum(0)
        return means


class RatedPairs:
    """Rated pairs with the targets derived from them.

    Args:
        rows: The pairs.
        notes: Warnings from reading the file.

    Attributes:
        criteria: Criteria of the error counts, in order of appearance.
        targets: Targets over all criteria, then one per criterion, named with the prefix "criterion:".
        notes: Warnings about the pairs, shown with all results.

    >>> errors = {"mean": {"omission": 0, "addition": 1}}
    >>> row = RatedPair(id="a", reference="Clear lungs.", candidate="Left effusion.", group="a", errors=errors)
    >>> pairs = RatedPairs([row])
    >>> [(target.name, target.values.tolist()) for target in pairs.targets]
    [('errors', [1.0]), ('criterion:omission', [0.0]), ('criterion:addition', [1.0])]
    """

    def __init__(self, rows: Sequence[RatedPair], notes: Sequence[str] = ()) -> None:
        self.rows = list(rows)
        self.criteria = tuple(dict.fromkeys(tag for row in rows for tags in row.errors.values() for tag in tags))
        self.targets = tuple(_with_warnings(target) for target in self._build_targets())
        self.notes = (*notes, *self._warnings())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def cluster_ids(self) -> NDArray[np.int64]:
        """(n,) number of each pair's case, in order of appearance."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(row.group, len(numbers)) for row in self.rows], dtype=np.int64)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems in alphabetical order."""
        return tuple(sorted({row.system for row in self.rows if row.system is not None}))

    @property
    def raters(self) -> tuple[str, ...]:
        """Names of the raters in order of appearance."""
        return tuple(dict.fromkeys(rater for target in self.targets for rater in target.raters))

    def mean_errors(self, criterion: str, significant_only: bool = False) -> Floats:
        """Return the (n,) mean number of errors of a criterion over raters; NaN without a count."""
        targets = self._error_target(
            criterion, criterion, lambda row: row.significant_errors if significant_only else row.errors, criterion
        )
        return next((target.values for target in targets), np.full(len(self), np.nan))

    def _build_targets(self) -> Iterator[Target]:
        yield from self._error_target("errors", TOTAL_TARGETS["errors"], lambda row: row.errors)
        title = TOTAL_TARGETS["errors_significant"]
        yield from self._error_target("errors_significant", title, lambda row: row.significant_errors)
        raters = tuple(dict.fromkeys(rater for row in self.rows for rater in row.ratings))
        if raters:
            values = np.array([[row.ratings.get(rater, math.nan) for row in self.rows] for rater in raters], float)
            title = TOTAL_TARGETS["rating"]
            yield Target(name="rating", title=title, higher_is_better=True, raters=raters, by_rater=values)
        for tag in self.criteria:
            title = tag[:1].upper() + tag[1:].replace("_", " ")
            yield from self._error_target(f"{CRITERION_PREFIX}{tag}", title, lambda row: row.errors, tag)

    def _error_target(
        self, name: str, title: str, errors_of: Callable[[RatedPair], Errors], tag: str | None = None
    ) -> Iterator[Target]:
        """Yield the target of one criterion, or of all criteria if `tag` is None, unless no rater counted."""
        raters = tuple(dict.fromkeys(rater for row in self.rows for rater in errors_of(row)))
        values = np.full((len(raters), len(self.rows)), np.nan)
        for index, row in enumerate(self.rows):
            for number, rater in enumerate(raters):
                if (counts := errors_of(row).get(rater)) is not None:
                    values[number, index] = sum(counts.values()) if tag is None else counts.get(tag, math.nan)
        if raters:
            yield Target(name=name, title=title, higher_is_better=False, raters=raters, by_rater=values)

    def _warnings(self) -> Iterator[str]:
        if self.rows and not self.targets:
            yield "no pair is rated: there is no target for the scores"
        if len(self.raters) == 1 and self.raters != (MEAN_RATER,):
            yield "only one rater: inter-rater agreement is unknown"
        if empty := sum(not row.candidate.strip() for row in self.rows):
            yield f"{empty} pairs have a missing or empty candidate"
        yield from self._missing_candidates()
        if synthetic := sum(row.synthetic for row in self.rows):
            yield f"{synthetic} pairs are SYNTHETIC: generated errors, counted by a program; no radiologist rated them"

    def _missing_candidates(self) -> Iterator[str]:
        groups = {row.group for row in self.rows}
        pairs = {(row.group, row.system) for row in self.rows if row.candidate.strip()}
        cases_per_system = Counter(system for _, system in pairs)
        for system in self.systems if len(groups) > 1 else ():
            # A system with fewer than half of the cases belongs to a design in which systems share few cases.
            missing = len(groups) - cases_per_system[system]
            if 0 < missing <= len(groups) / 2:
                yield f"{missing} of {len(groups)} cases have no candidate of {system}"


def _with_warnings(target: Target) -> Target:
    notes = []
    values = target.values
    n_missing, n_without_value = int(np.isnan(target.by_rater).sum()), int(np.isnan(values).sum())
    if n_without_value:
        notes.append(f"{n_without_value} of {len(values)} pairs have no value and are left out")
    if len(target.raters) > 1 and n_missing > n_without_value * len(target.raters):
        notes.append("not every rater rated every pair; the mean is over the raters with a value")
    defined = values[~np.isnan(values)]
    if len(defined) > 1 and np.ptp(defined) == 0:
        notes.append(f"all values are {defined[0]:g}: correlations are undefined")
    if target.name == "rating":
        notes += _scale_warnings(target)
    return replace(target, notes=tuple(notes))


def _scale_warnings(target: Target) -> Iterator[str]:
    """Yield warnings if ratings of several raters, or of one rater, seem to use several scales."""
    ranges = {}
    for rater, ratings in zip(target.raters, target.by_rater, strict=True):
        values = np.unique(ratings[~np.isnan(ratings)])
        if len(values) > 1:
            ranges[rater] = float(values[-1] - values[0]), f"{values[0]:g} to {values[-1]:g}"
        positive = values[values > 0]
        gaps = np.flatnonzero(positive[1:] > _MAX_SCALE_RATIO * positive[:-1])
        if any(gap >= 2 and len(positive) - gap > 3 for gap in gaps.tolist()):
            yield f"mixed scale: the ratings of {rater!r} are {values[0]:g} to {values[-1]:g} with a gap between"
    if ranges and max(ranges.values())[0] > _MAX_SCALE_RATIO * min(ranges.values())[0]:
        listed = ", ".join(f"{rater!r} {text}" for rater, (_, text) in ranges.items())
        yield f"mixed scale: the raters use different ranges ({listed}); the widest dominates the mean"
