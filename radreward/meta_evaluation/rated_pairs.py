"""Rated pairs, and the targets derived from them with which scores are compared."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from radreward.io.spool import Spool
from radreward.text.patient_context import NO_CONTEXT, PatientContext

Floats = NDArray[np.float64]
Ratings = Mapping[str, float]
"""Rater → rating."""
Errors = Mapping[str, Mapping[str, float]]
"""Rater → criterion → number of errors."""

MEAN_RATER = "mean"
"""Name of the rater if a file has one number for all raters."""
CRITERION_PREFIX = "criterion:"
"""Prefix of the names of targets for single criteria."""
TOTAL_TARGETS = {"errors": "Errors", "errors_significant": "Significant errors", "rating": "Rating"}
"""Names and titles of the targets over all criteria."""
_MAX_SCALE_RATIO = 5.0
"""If the ranges of two raters differ by a larger factor, they probably use different scales."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPair:
    """A candidate, its reference, and the judgements of raters.

    Attributes:
        id: Identifier, unique in a file.
        reference: Reference report.
        candidate: Candidate report; empty if missing.
        group: The case, such as a study. Pairs of one case are not independent and are resampled together.
        system: System that wrote the candidate, if known.
        ratings: Ratings, higher is better; NaN if a rater gave none.
        errors: Numbers of all errors; NaN if a rater did not count them.
        significant_errors: Numbers of the clinically significant errors among `errors`.
        context: Age and indication of the patient, if known; some scorers use them.
        synthetic: True if a program generated and counted the errors.
        notes: Rater → note.
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
    notes: Mapping[str, str] = field(default_factory=dict)


def group_by_reference(rows: Iterable[RatedPair]) -> Iterator[RatedPair]:
    """Yield the pairs, with a group for those without: pairs with equal references get the id of the first one."""
    first_ids: dict[bytes, str] = {}  # by the hash of the reference, which needs less memory than the text
    for row in rows:
        reference = blake2b(row.reference.encode(), digest_size=16).digest()
        yield row if row.group else replace(row, group=first_ids.setdefault(reference, row.id))


def mean_over_raters(by_rater: Floats) -> Floats:
    """Return the (n,) means of (R, n) values over raters, ignoring NaN; NaN without a warning if all are NaN.

    >>> mean_over_raters(np.array([[1.0, np.nan], [2.0, np.nan]])).tolist()
    [1.5, nan]
    """
    defined = ~np.isnan(by_rater)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(defined, by_rater, 0).sum(0) / defined.sum(0)
    return means


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One number per pair, with which scores are compared.

    Attributes:
        name: Name in files.
        title: Title in tables.
        higher_is_better: Direction of the values.
        raters: R names.
        by_rater: (R, n) values, NaN if a rater gave none.
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
        """(n,) means over the raters with a value; NaN if no rater has one."""
        return mean_over_raters(self.by_rater)


class RatedPairs:
    """Rated pairs, and the targets derived from them. Numbers are arrays in memory; texts are in a temporary file.

    Args:
        rows: The pairs, read once and one at a time.
        notes: Warnings of the reader of the file.

    Attributes:
        rows: The pairs, read from the temporary file.
        cluster_ids: (n,) index of the case of each pair, in order of appearance.
        num_clusters: Number of cases.
        systems: Names of the systems in alphabetical order.
        system_ids: (n,) index of the system that wrote each candidate, -1 if unknown.
        num_synthetic: Number of synthetic pairs.
        criteria: Criteria of the error counts, in order of appearance.
        targets: Targets over all criteria, then one target per criterion, whose name starts with "criterion:".
        significant_targets: For each criterion, its significant errors. Only raters are compared on them.
        notes: Warnings about the pairs.

    >>> errors = {"mean": {"omission": 0, "addition": 1}}
    >>> row = RatedPair(id="a", reference="Clear lungs.", candidate="Left effusion.", group="a", errors=errors)
    >>> pairs = RatedPairs([row])
    >>> [(target.name, target.values.tolist()) for target in pairs.targets]
    [('errors', [1.0]), ('criterion:omission', [0.0]), ('criterion:addition', [1.0])]
    """

    def __init__(self, rows: Iterable[RatedPair], notes: Sequence[str] = ()) -> None:
        numbers = _PairNumbers()
        self.rows: Sequence[RatedPair] = Spool(map(numbers.add, rows), _to_json, _from_json)
        self._has_candidate = np.array(numbers.has_candidate, dtype=np.bool_)
        self.cluster_ids = np.array(numbers.cluster_ids, dtype=np.int64)
        self.num_clusters, self.num_synthetic = len(numbers.clusters), numbers.num_synthetic
        self.systems = tuple(sorted(system for system in numbers.systems if system is not None))
        order = [self.systems.index(system) if system is not None else -1 for system in numbers.systems]
        self.system_ids = np.array(order, dtype=np.int64)[np.array(numbers.system_ids, dtype=np.int64)]
        self.criteria = numbers.tags("errors")
        self.targets = tuple(_with_warnings(target) for target in _build_targets(numbers))
        self.significant_targets = tuple(
            _target(numbers, f"significant_{tag}", f"Significant: {_title(tag)}", "significant_errors", tag)
            for tag in self.criteria
        )
        self.notes = (*notes, *self._warnings())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def raters(self) -> tuple[str, ...]:
        """Names of the raters in order of appearance."""
        return tuple(dict.fromkeys(rater for target in self.targets for rater in target.raters))

    def mean_errors(self, criterion: str, significant_only: bool = False) -> Floats:
        """Return the (n,) mean number of errors of a criterion over raters; NaN without a count."""
        if significant_only:
            return self.significant_targets[self.criteria.index(criterion)].values
        [target] = (target for target in self.targets if target.name == CRITERION_PREFIX + criterion)
        return target.values

    def _warnings(self) -> Iterator[str]:
        if len(self) and not self.targets:
            yield "no pair is rated, so scores cannot be compared with raters"
        if len(self.raters) == 1 and self.raters != (MEAN_RATER,):
            yield "only one rater: inter-rater agreement is unknown"
        if empty := int((~self._has_candidate).sum()):
            yield f"{empty} pairs have a missing or empty candidate"
        yield from self._missing_candidates()
        if self.num_synthetic:
            yield (
                f"{self.num_synthetic} pairs are SYNTHETIC: generated errors, counted by a program; "
                "no radiologist rated them"
            )

    def _missing_candidates(self) -> Iterator[str]:
        for index, system in enumerate(self.systems if self.num_clusters > 1 else ()):
            # If a system has fewer than half of the cases, the missing ones are part of the study design.
            cases = np.unique(self.cluster_ids[self._has_candidate & (self.system_ids == index)])
            missing = self.num_clusters - len(cases)
            if 0 < missing <= self.num_clusters / 2:
                yield f"{missing} of {self.num_clusters} cases have no candidate of {system}"


class _PairNumbers:
    """Numbers of rated pairs, collected row by row in a few bytes per pair.

    Attributes:
        clusters: Case → index, in order of appearance.
        systems: System, or None if unknown → index, in order of appearance.
        has_candidate: (n,) 0 if the candidate is empty.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, int] = {}
        self.systems: dict[str | None, int] = {}
        self.cluster_ids, self.system_ids, self.has_candidate = array("q"), array("q"), array("b")
        self.num_synthetic = 0
        self._columns: dict[tuple[str, str, str | None], array[float]] = {}

    def add(self, row: RatedPair) -> RatedPair:
        """Collect the numbers of the next row and return it."""
        for rater, rating in row.ratings.items():
            self._add_value(("ratings", rater, None), rating)
        for field_name, by_rater in (("errors", row.errors), ("significant_errors", row.significant_errors)):
            for rater, counts in by_rater.items():
                self._add_value((field_name, rater, None), sum(counts.values()))
                for tag, count in counts.items():
                    self._add_value((field_name, rater, tag), count)
        self.cluster_ids.append(self.clusters.setdefault(row.group, len(self.clusters)))
        self.system_ids.append(self.systems.setdefault(row.system, len(self.systems)))
        self.has_candidate.append(bool(row.candidate.strip()))
        self.num_synthetic += row.synthetic
        return row

    def _add_value(self, name: tuple[str, str, str | None], value: float) -> None:
        column = self._columns.setdefault(name, array("d"))
        column.extend([math.nan] * (len(self.cluster_ids) - len(column)))  # rows without this value
        column.append(value)

    def raters(self, field_name: str) -> tuple[str, ...]:
        """Return the raters with a value of a field, in order of appearance."""
        return tuple(dict.fromkeys(rater for name, rater, _ in self._columns if name == field_name))

    def tags(self, field_name: str) -> tuple[str, ...]:
        """Return the criteria of a field, in order of appearance."""
        return tuple(dict.fromkeys(tag for name, _, tag in self._columns if name == field_name and tag is not None))

    def by_rater(self, field_name: str, tag: str | None = None) -> Floats:
        """Return the (R, n) values of a criterion, or of the sum over criteria; NaN if a rater gave none."""
        raters = self.raters(field_name)
        values = np.full((len(raters), len(self.cluster_ids)), np.nan)
        for row, rater in zip(values, raters, strict=True):
            column = self._columns.get((field_name, rater, tag), ())
            row[: len(column)] = column
        return values


def _to_json(pair: RatedPair) -> dict[str, Any]:
    return {name: getattr(pair, name) for name in RatedPair.__slots__}


def _from_json(values: dict[str, Any]) -> RatedPair:
    return RatedPair(**values | {"context": PatientContext(*values["context"])})


def _build_targets(numbers: _PairNumbers) -> Iterator[Target]:
    """Yield the targets over all criteria, then one per criterion. Targets without any value are left out."""
    sources: dict[str, tuple[str, str | None]] = {  # name → field of the pairs, criterion
        "errors": ("errors", None),
        "errors_significant": ("significant_errors", None),
        "rating": ("ratings", None),
        **{f"{CRITERION_PREFIX}{tag}": ("errors", tag) for tag in numbers.tags("errors")},
    }
    for name, (field_name, tag) in sources.items():
        if numbers.raters(field_name):
            title = TOTAL_TARGETS[name] if tag is None else tag[:1].upper() + _title(tag)[1:]
            yield _target(numbers, name, title, field_name, tag)


def _target(numbers: _PairNumbers, name: str, title: str, field_name: str, tag: str | None) -> Target:
    return Target(
        name=name,
        title=title,
        higher_is_better=name == "rating",
        raters=numbers.raters(field_name),
        by_rater=numbers.by_rater(field_name, tag),
    )


def _title(tag: str) -> str:
    return tag.replace("_", " ")


def _with_warnings(target: Target) -> Target:
    notes = []
    values = target.values
    n_missing, n_without_value = int(np.isnan(target.by_rater).sum()), int(np.isnan(values).sum())
    if n_without_value:
        notes.append(f"{n_without_value} of {len(values)} pairs have no value and are left out")
    if len(target.raters) > 1 and n_missing > n_without_value * len(target.raters):
        notes.append("not every rater rated every pair; the mean is over the raters with a value")
    if (constant := _constant(values)) is not None:
        notes.append(f"all values are {constant:g}: correlations are undefined")
    if target.name in TOTAL_TARGETS and len(target.raters) > 1:
        notes += _constant_raters(target)
    if target.name == "rating":
        notes += _scale_warnings(target)
    return replace(target, notes=tuple(notes))


def _constant(values: Floats) -> float | None:
    """Return the value of two or more equal values, ignoring NaN; None if they differ or there are fewer."""
    defined = values[~np.isnan(values)]
    return float(defined[0]) if len(defined) > 1 and np.ptp(defined) == 0 else None


def _constant_raters(target: Target) -> Iterator[str]:
    for rater, values in zip(target.raters, target.by_rater, strict=True):
        if (constant := _constant(values)) is not None:
            yield (
                f"rater {rater!r} gave every pair the same value ({constant:g}), so no correlation with this rater is "
                "defined"
            )


def _scale_warnings(target: Target) -> Iterator[str]:
    """Yield warnings if the ratings seem to use several scales, between raters or within one rater."""
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
        yield f"mixed scale: the raters use different ranges ({listed}); the widest range dominates the mean"
