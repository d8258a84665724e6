"""How often a report is free of errors of a category, how many there are, and how high the score is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from radreward.prompts.generative_template import one_line
from radreward.scorers.base import STATUS_TRUNCATED
from radreward.systems.green.score import green_score
from radreward.systems.green.summary.explanations import INSIGNIFICANT_PREFIX, ReportExplanation


class MeanOverReports(NamedTuple):
    """A mean over reports, and how many they are."""

    n: int
    mean: float | None
    """None where there is no report."""
    std: float | None
    """Sample standard deviation, √(Σ (x − mean)² / (n − 1)); None for fewer than two reports."""


class ErrorCategory(NamedTuple):
    """A category of errors."""

    tag: str
    significant: bool
    """False for errors that do not matter for the patient's care; True also where the model does not tell."""

    @property
    def error_key(self) -> str:
        """Its key among the errors in words."""
        return self.tag if self.significant else INSIGNIFICANT_PREFIX + self.tag


class CategoryStatistics(NamedTuple):
    """The errors of a category in the reports of a system."""

    num_readable: int
    """Reports whose number of such errors could be read."""
    num_unreadable: int
    """Reports where it could not."""
    accuracy: float | None
    """Share of the n reports without such an error; None where n is 0."""
    errors_per_report: MeanOverReports
    """Of a report."""
    total_errors: float
    """Errors in all n reports."""
    error_sentences: tuple[tuple[str, str], ...]
    """Report and sentence of each error that the model put in words."""


class ScoreStatistics(NamedTuple):
    """What became of the reports of a system."""

    num_reports: int
    score: MeanOverReports
    unscored_reasons: dict[str, int]
    """Why reports have no score, and how many, the most frequent reason first."""
    num_truncated: int
    """Reports that have a score and were cut before they were judged."""
    num_cut_off: int
    """Answers that reached their longest length before they ended."""


def mean_over_reports(values: Sequence[float]) -> MeanOverReports:
    """Mean and sample standard deviation.

    >>> mean_of([1.0, 0.0]), mean_of([1.0]), mean_of([])
    (Mean(n=2, mean=0.5, sd=0.7071067811865476), Mean(n=1, mean=1.0, sd=None), Mean(n=0, mean=None, sd=None))
    """
    n = len(values)
    if not n:
        return MeanOverReports(0, None, None)
    mean = math.fsum(values) / n
    return MeanOverReports(
        n, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else None
    )


def error_categories_of(explanations: Sequence[ReportExplanation]) -> list[ErrorCategory]:
    """The categories that the answers count: those that matter, then those that do not."""
    said = next((entry.explanation for entry in explanations if entry.explanation is not None), None)
    if said is None:
        return []
    return [
        *(ErrorCategory(tag, True) for tag in said.significant),
        *(ErrorCategory(tag, False) for tag in said.insignificant),
    ]


def category_statistics(explanations: Sequence[ReportExplanation], category: ErrorCategory) -> CategoryStatistics:
    """The figures of a category over reports. Words are taken where a number above 0 was read, and only there."""
    counts: list[float] = []
    words: list[tuple[str, str]] = []
    for entry in explanations:
        if entry.explanation is None:
            continue
        count = (entry.explanation.significant if category.significant else entry.explanation.insignificant)[
            category.tag
        ]
        if count is None:
            continue
        counts.append(count)
        if count > 0:
            sentences = map(one_line, entry.explanation.errors.get(category.error_key, ()))
            words += [(entry.report_id, sentence) for sentence in sentences if sentence]
    n = len(counts)
    accuracy = sum(count == 0 for count in counts) / n if n else None
    return CategoryStatistics(
        n, len(explanations) - n, accuracy, mean_over_reports(counts), math.fsum(counts), tuple(words)
    )


def score_statistics(explanations: Sequence[ReportExplanation]) -> ScoreStatistics:
    """The score over reports, and why some have none."""
    scored = [entry for entry in explanations if entry.total is not None]
    without = Counter(one_line(entry.status) for entry in explanations if entry.total is None)
    return ScoreStatistics(
        len(explanations),
        mean_over_reports([entry.total for entry in scored if entry.total is not None]),
        dict(without.most_common()),
        sum(entry.status == STATUS_TRUNCATED for entry in scored),
        sum(entry.explanation is not None and entry.explanation.finish_reason == "length" for entry in explanations),
    )


def uses_green_formula(explanations: Sequence[ReportExplanation]) -> bool:
    """Whether the score of every report is M / (M + Σ significant errors) of its counts (GREEN, Eq. 1)."""
    scored = [entry for entry in explanations if entry.total is not None]
    return bool(scored) and all(_report_uses_green_formula(entry) for entry in scored)


def _report_uses_green_formula(report: ReportExplanation) -> bool:
    if report.explanation is None or report.explanation.num_matched is None or report.total is None:
        return False
    counts = [count for count in report.explanation.significant.values() if count is not None]
    return math.isclose(report.total, green_score(report.explanation.num_matched, counts), abs_tol=1e-6)
