"""Statistics of the error counts and scores of a report generator."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from radreward.prompts.generative_template import one_line
from radreward.scorers.status import STATUS_TRUNCATED
from radreward.systems.green.score import green_score
from radreward.systems.green.summary.clusters import ErrorCluster
from radreward.systems.green.summary.explanations import INSIGNIFICANT_PREFIX, ReportExplanation


@dataclass(frozen=True, slots=True)
class MeanOverReports:
    """A mean over reports."""

    n: int
    mean: float | None
    """None without reports."""
    std: float | None
    """Sample standard deviation, √(Σ (x − mean)² / (n − 1)); None for fewer than two reports."""


class ErrorCategory(NamedTuple):
    """A category of errors."""

    tag: str
    significant: bool
    """False for clinically insignificant errors; always True if the model does not separate them."""

    @property
    def error_key(self) -> str:
        """Key of the category in `Explanation.errors`."""
        return self.tag if self.significant else INSIGNIFICANT_PREFIX + self.tag


@dataclass(frozen=True, slots=True, kw_only=True)
class CategorySummary:
    """Errors of one category in the reports of one system."""

    tag: str
    significant: bool
    """See `ErrorCategory`."""
    num_readable: int
    """Number of reports whose error count was parsed."""
    num_unreadable: int
    """Number of other reports."""
    accuracy: float | None
    """Fraction of the readable reports without such an error; None without readable reports."""
    errors_per_report: MeanOverReports
    total_errors: float
    """Errors in all readable reports."""
    descriptions: tuple[tuple[str, str], ...]
    """Report id and sentence of each error that the model described."""
    clusters: tuple[ErrorCluster, ...] = ()
    """Clusters of the descriptions, the largest first."""

    @property
    def num_described(self) -> int:
        """Number of described errors, which may be less than `total_errors`."""
        return len(self.descriptions)


@dataclass(frozen=True, slots=True)
class ScoreStatistics:
    """Scores of the reports of one system."""

    num_reports: int
    score: MeanOverReports
    unscored_reasons: dict[str, int]
    """Number of reports without a score by reason, the most frequent first."""
    num_truncated: int
    """Number of reports that were truncated before they were scored."""
    num_cut_off: int
    """Number of answers that reached the maximum length."""


def mean_over_reports(values: Sequence[float]) -> MeanOverReports:
    """Return the mean and the sample standard deviation.

    >>> mean_over_reports([1.0, 0.0])
    MeanOverReports(n=2, mean=0.5, std=0.7071067811865476)
    >>> mean_over_reports([1.0]), mean_over_reports([])
    (MeanOverReports(n=1, mean=1.0, std=None), MeanOverReports(n=0, mean=None, std=None))
    """
    return MeanOverReports(
        len(values), statistics.fmean(values) if values else None, statistics.stdev(values) if len(values) > 1 else None
    )


def error_categories_of(explanations: Sequence[ReportExplanation]) -> list[ErrorCategory]:
    """Return the categories that the answers count: significant, then insignificant errors."""
    first = next((report.explanation for report in explanations if report.explanation is not None), None)
    if first is None:
        return []
    return [
        *(ErrorCategory(tag, True) for tag in first.significant),
        *(ErrorCategory(tag, False) for tag in first.insignificant),
    ]


def category_statistics(explanations: Sequence[ReportExplanation], category: ErrorCategory) -> CategorySummary:
    """Return the statistics of a category. Descriptions are ignored unless the report's error count is above 0."""
    counts: list[float] = []
    descriptions: list[tuple[str, str]] = []
    for report in explanations:
        if report.explanation is None:
            continue
        table = report.explanation.significant if category.significant else report.explanation.insignificant
        if (count := table[category.tag]) is None:
            continue
        counts.append(count)
        if count > 0:
            sentences = map(one_line, report.explanation.errors.get(category.error_key, ()))
            descriptions += [(report.report_id, sentence) for sentence in sentences if sentence]
    return CategorySummary(
        tag=category.tag,
        significant=category.significant,
        num_readable=len(counts),
        num_unreadable=len(explanations) - len(counts),
        accuracy=sum(count == 0 for count in counts) / len(counts) if counts else None,
        errors_per_report=mean_over_reports(counts),
        total_errors=math.fsum(counts),
        descriptions=tuple(descriptions),
    )


def score_statistics(explanations: Sequence[ReportExplanation]) -> ScoreStatistics:
    """Return the statistics of the scores, and the reasons for missing scores."""
    unscored = Counter(one_line(report.status) for report in explanations if report.total is None)
    answers = [report.explanation for report in explanations if report.explanation is not None]
    return ScoreStatistics(
        num_reports=len(explanations),
        score=mean_over_reports([report.total for report in explanations if report.total is not None]),
        unscored_reasons=dict(unscored.most_common()),
        num_truncated=sum(report.total is not None and report.status == STATUS_TRUNCATED for report in explanations),
        num_cut_off=sum(answer.finish_reason == "length" for answer in answers),
    )


def uses_green_formula(explanations: Sequence[ReportExplanation]) -> bool:
    """Return True if every score is M / (M + Σ significant errors) of the report's counts (GREEN, Eq. 1)."""
    scored = [report for report in explanations if report.total is not None]
    return bool(scored) and all(_report_uses_green_formula(report) for report in scored)


def _report_uses_green_formula(report: ReportExplanation) -> bool:
    if report.explanation is None or report.explanation.num_matched is None or report.total is None:
        return False
    counts = [count for count in report.explanation.significant.values() if count is not None]
    return math.isclose(report.total, green_score(report.explanation.num_matched, counts), abs_tol=1e-6)
