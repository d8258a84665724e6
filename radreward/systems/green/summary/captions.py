"""The words and rows of a summary, the same in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.io.text_tables import format_number
from radreward.systems.green.summary.clusters import ErrorCluster
from radreward.systems.green.summary.summary import CategorySummary, ErrorSummary, SystemSummary

MAX_STATUS_REASONS = 5
"""Most reasons that are listed of why reports have no score; all are in the JSON."""

METHOD_NOTE = (
    "Accuracy is the share of reports without an error of the category, of the n reports whose number of such errors "
    "could be read; ± is the sample standard deviation over reports. Errors in words are put together by k-means of "
    "their embeddings, k by the silhouette; shown is the sentence nearest the centre of the largest cluster, with the "
    "cluster's share of the category's errors in words and the first report of which it was said."
)


class CategorySection(NamedTuple):
    """Categories of one weight for the patient, with those of each system."""

    title: str
    rows: tuple[tuple[CategorySummary, ...], ...]
    """By category, then by system."""


def page_title(summary: ErrorSummary) -> str:
    """What the page is called."""
    names = [system.system for system in summary.systems if system.system is not None]
    return "Errors of " + (
        " and ".join([", ".join(names[:-1]), names[-1]][len(names) < 2 :]) if names else "the reports"
    )


def system_label(system: SystemSummary) -> str:
    """What a system is called in a table."""
    return "all reports" if system.system is None else system.system


def category_label(category: CategorySummary) -> str:
    """What a category is called."""
    return category.tag.replace("_", " ")


def category_sections(summary: ErrorSummary) -> list[CategorySection]:
    """The categories that matter, and those that do not where the model tells them apart."""
    apart = any(not category.significant for category in summary.systems[0].categories)
    parts = {True: "Clinically significant errors" if apart else "Errors", False: "Clinically insignificant errors"}
    rows = list(zip(*(system.categories for system in summary.systems), strict=True))
    found = [
        CategorySection(name, tuple(row for row in rows if row[0].significant == kind)) for kind, name in parts.items()
    ]
    return [section for section in found if section.rows]


def score_rows(summary: ErrorSummary) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the score of each system."""
    rows = []
    for system in summary.systems:
        found = system.statistics
        spread = (
            "–" if found.score.mean is None else f"{format_number(found.score.mean)} ± {format_number(found.score.std)}"
        )
        without = found.num_reports - found.score.n
        rows.append([system_label(system), spread, str(found.score.n), str(without)])
    return ["", f"{summary.score_name} (mean ± SD)", "n", "without a score"], rows


def category_rows(summary: ErrorSummary, section: CategorySection) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: accuracy, mean and n of each category, system beside system."""
    several = len(summary.systems) > 1
    heads = [""]
    for system in summary.systems:
        before = f"{system_label(system)}: " if several else ""
        heads += [f"{before}accuracy", f"{before}errors a report", f"{before}n"]
    rows = []
    for row in section.rows:
        cells = [category_label(row[0])]
        for category in row:
            cells += [format_number(category.accuracy), mean_std_text(category), str(category.num_readable)]
        rows.append(cells)
    return heads, rows


def accuracy_rows(summary: ErrorSummary, section: CategorySection) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the accuracy of each category, a column for each system, for narrow places."""
    several = len(summary.systems) > 1
    heads = ["accuracy", *(system_label(system) if several else "" for system in summary.systems)]
    rows = [
        [
            category_label(row[0]),
            *(f"{format_number(category.accuracy)} (n {category.num_readable})" for category in row),
        ]
        for row in section.rows
    ]
    return heads, rows


def mean_std_text(category: CategorySummary) -> str:
    """Mean and standard deviation of the errors of a report."""
    return (
        "–"
        if category.errors_per_report.mean is None
        else f"{format_number(category.errors_per_report.mean, 2)} ± {format_number(category.errors_per_report.std, 2)}"
    )


def cluster_share_text(cluster: ErrorCluster, category: CategorySummary) -> str:
    """How many errors a cluster holds.

    >>> from radreward.systems.green.summary.category_statistics import Mean
    >>> category = Category("omission", True, 9, 0, 0.5, Mean(9, 1.0, 0.5), 9.0, 4, ())
    >>> share(Cluster(3, 0.75, ()), category)
    '3 of 4 errors in words (75 %)'
    """
    return f"{cluster.size} of {category.num_described} errors in words ({cluster.fraction:.0%})".replace("%", " %")


def empty_category_text(category: CategorySummary) -> str:
    """Why a category has no sentence to show.

    >>> from radreward.systems.green.summary.category_statistics import Mean
    >>> nothing(Category("omission", True, 9, 0, 1.0, Mean(9, 0.0, 0.0), 0.0, 0, ()))
    'no error in 9 reports'
    """
    if not category.num_readable:
        return "no report whose number of errors could be read"
    if not category.total_errors:
        return f"no error in {report_count_text(category.num_readable)}"
    return f"{category.total_errors:g} errors counted, none of them in words"


def report_count_text(number: int) -> str:
    """A number of reports.

    >>> reports(1), reports(0)
    ('1 report', '0 reports')
    """
    return f"{number} report{'s' * (number != 1)}"


def footnotes(summary: ErrorSummary) -> list[str]:
    """What was not read, system by system, and how the summary was made."""
    several = len(summary.systems) > 1
    told: list[str] = []
    for system in summary.systems:
        before, found = f"{system_label(system)}: " if several else "", system.statistics
        reasons = list(found.unscored_reasons.items())
        told += [
            f"{before}{report_count_text(number)} without a score: {reason}"
            for reason, number in reasons[:MAX_STATUS_REASONS]
        ]
        if len(reasons) > MAX_STATUS_REASONS:
            rest = sum(number for _, number in reasons[MAX_STATUS_REASONS:])
            told.append(
                f"{before}{report_count_text(rest)} without a score for {len(reasons) - MAX_STATUS_REASONS} other reasons"
            )
        if found.num_truncated:
            told.append(
                f"{before}{report_count_text(found.num_truncated)} cut to the model's limit before they were judged"
            )
        if found.num_cut_off:
            told.append(f"{before}{found.num_cut_off} answers reached their longest length before they ended")
        told += [f"{before}{line}" for line in _missing_text_notes(system.categories)]
    if summary.num_truncated:
        told.append(f"{summary.num_truncated} different sentences are embedded by their first 256 tokens")
    told.append(f"Embeddings: {summary.encoder}; seed {summary.seed}")
    return told


def plot_caption(summary: ErrorSummary) -> str:
    """What the plot shows."""
    plot = summary.layout
    if plot.failure:
        return f"No plot: {plot.failure}."
    errors = "significant errors" if any(not kind.significant for kind in summary.systems[0].categories) else "errors"
    count = f"{len(plot.positions)} different {errors} in words"
    if len(plot.positions) < plot.num_sentences:
        count = f"{len(plot.positions)} of {plot.num_sentences} different {errors} in words, drawn at random"
    return (
        f"t-SNE of the embeddings of {count}, perplexity {plot.perplexity:.3g}. The larger a point, the more often "
        "the error was said. Near points mean alike; axes and distances between groups mean nothing."
    )


def _missing_text_notes(categories: Sequence[CategorySummary]) -> list[str]:
    """Where the model counted more errors than it put in words."""
    return [
        f"{category_label(category)}{'' if category.significant else ' (insignificant)'}: {category.num_described} errors in "
        f"words of {category.total_errors:g} counted"
        for category in categories
        if category.num_described < category.total_errors
    ]
