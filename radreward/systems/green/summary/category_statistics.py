"""How often a report is free of errors of a category, how many there are, and how high the score is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from radreward.prompts.generative_template import one_line
from radreward.scorers.base import TRUNCATED
from radreward.systems.green.score import green_score
from radreward.systems.green.summary.explanations import INSIGNIFICANT, Reasons


class Mean(NamedTuple):
    """A mean over reports, and how many they are."""

    n: int
    mean: float | None
    """None where there is no report."""
    sd: float | None
    """Sample standard deviation, √(Σ (x − mean)² / (n − 1)); None for fewer than two reports."""


class ErrorKind(NamedTuple):
    """A category of errors."""

    tag: str
    significant: bool
    """False for errors that do not matter for the patient's care; True also where the model does not tell."""

    @property
    def key(self) -> str:
        """Its key among the errors in words."""
        return self.tag if self.significant else INSIGNIFICANT + self.tag


class Figures(NamedTuple):
    """The errors of a category in the reports of a system."""

    n: int
    """Reports whose number of such errors could be read."""
    unread: int
    """Reports where it could not."""
    accuracy: float | None
    """Share of the n reports without such an error; None where n is 0."""
    errors: Mean
    """Of a report."""
    total: float
    """Errors in all n reports."""
    said: tuple[tuple[str, str], ...]
    """Report and sentence of each error that the model put in words."""


class Readings(NamedTuple):
    """What became of the reports of a system."""

    reports: int
    score: Mean
    unscored: dict[str, int]
    """Why reports have no score, and how many, the most frequent reason first."""
    truncated: int
    """Reports that have a score and were cut before they were judged."""
    cut_off: int
    """Answers that reached their longest length before they ended."""


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and sample standard deviation.

    >>> mean_of([1.0, 0.0]), mean_of([1.0]), mean_of([])
    (Mean(n=2, mean=0.5, sd=0.7071067811865476), Mean(n=1, mean=1.0, sd=None), Mean(n=0, mean=None, sd=None))
    """
    n = len(values)
    if not n:
        return Mean(0, None, None)
    mean = math.fsum(values) / n
    return Mean(n, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None)


def kinds_of(reasons: Sequence[Reasons]) -> list[ErrorKind]:
    """The categories that the answers count: those that matter, then those that do not."""
    said = next((entry.said for entry in reasons if entry.said is not None), None)
    if said is None:
        return []
    return [*(ErrorKind(tag, True) for tag in said.significant), *(ErrorKind(tag, False) for tag in said.insignificant)]


def figures_of(reasons: Sequence[Reasons], kind: ErrorKind) -> Figures:
    """The figures of a category over reports. Words are taken where a number above 0 was read, and only there."""
    counts: list[float] = []
    words: list[tuple[str, str]] = []
    for entry in reasons:
        if entry.said is None:
            continue
        count = (entry.said.significant if kind.significant else entry.said.insignificant)[kind.tag]
        if count is None:
            continue
        counts.append(count)
        if count > 0:
            sentences = map(one_line, entry.said.errors.get(kind.key, ()))
            words += [(entry.id, sentence) for sentence in sentences if sentence]
    n = len(counts)
    accuracy = sum(count == 0 for count in counts) / n if n else None
    return Figures(n, len(reasons) - n, accuracy, mean_of(counts), math.fsum(counts), tuple(words))


def readings_of(reasons: Sequence[Reasons]) -> Readings:
    """The score over reports, and why some have none."""
    scored = [entry for entry in reasons if entry.total is not None]
    without = Counter(one_line(entry.status) for entry in reasons if entry.total is None)
    return Readings(
        len(reasons),
        mean_of([entry.total for entry in scored if entry.total is not None]),
        dict(without.most_common()),
        sum(entry.status == TRUNCATED for entry in scored),
        sum(entry.said is not None and entry.said.finish == "length" for entry in reasons),
    )


def is_green(reasons: Sequence[Reasons]) -> bool:
    """Whether the score of every report is M / (M + Σ significant errors) of its counts (GREEN, Eq. 1)."""
    scored = [entry for entry in reasons if entry.total is not None]
    return bool(scored) and all(_is_green(entry) for entry in scored)


def _is_green(entry: Reasons) -> bool:
    if entry.said is None or entry.said.matched is None or entry.total is None:
        return False
    counts = [count for count in entry.said.significant.values() if count is not None]
    return math.isclose(entry.total, green_score(entry.said.matched, counts), abs_tol=1e-6)
