"""Captions and tables of a summary, shared by HTML, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from radreward.io.text_tables import format_number, text_frame
from radreward.systems.green.summary.category_statistics import CategorySummary, MeanOverReports
from radreward.systems.green.summary.clusters import ErrorCluster
from radreward.systems.green.summary.summary import ErrorSummary, SystemSummary

if TYPE_CHECKING:
    import pandas as pd

_MAX_STATUS_REASONS = 5
"""Number of reasons for missing scores that are listed. The JSON file contains all reasons."""

METHOD_NOTE = (
    "Accuracy is the fraction of reports without an error of the category, among the n reports whose error count could "
    "be parsed; ± is the sample standard deviation over reports. Error descriptions are clustered by k-means of their "
    "embeddings, with k chosen by the silhouette. Each category shows the sentence closest to the center of its "
    "largest cluster, the cluster's share of the descriptions, and the first report with this sentence."
)


class _CategorySection(NamedTuple):
    """Categories of one clinical significance."""

    title: str
    rows: tuple[tuple[CategorySummary, ...], ...]
    """By category, then by system."""


def page_title(summary: ErrorSummary) -> str:
    """Return the title of the page."""
    names = [system.system for system in summary.systems if system.system is not None]
    if len(names) > 1:
        names = [", ".join(names[:-1]), names[-1]]
    return f"Errors of {' and '.join(names) or 'the reports'}"


def system_label(system: SystemSummary) -> str:
    """Return the name of a system in tables."""
    return "all reports" if system.system is None else system.system


def tag_label(tag: str) -> str:
    """Return the name of a category in tables."""
    return tag.replace("_", " ")


def category_sections(summary: ErrorSummary) -> list[_CategorySection]:
    """Return the significant categories and, if the model separates them, the insignificant ones."""
    rows = list(zip(*(system.categories for system in summary.systems), strict=True))
    is_separated = any(not row[0].significant for row in rows)
    titles = {
        True: "Clinically significant errors" if is_separated else "Errors",
        False: "Clinically insignificant errors",
    }
    sections = [
        _CategorySection(title, tuple(row for row in rows if row[0].significant == significant))
        for significant, title in titles.items()
    ]
    return [section for section in sections if section.rows]


def statistics_frame(summary: ErrorSummary) -> pd.DataFrame:
    """Return the table of scores, one row per system."""
    rows = []
    for system in summary.systems:
        score, num_reports = system.statistics.score, system.statistics.num_reports
        rows.append([system_label(system), _mean_std_text(score, digits=3), score.n, num_reports - score.n])
    return text_frame(["", f"{summary.score_name} (mean ± SD)", "n", "without a score"], rows)


def category_frame(summary: ErrorSummary, section: _CategorySection) -> pd.DataFrame:
    """Return the table of a section: accuracy, errors per report and n of each system, one row per category."""
    columns = [""]
    for system in summary.systems:
        prefix = f"{system_label(system)}: " if len(summary.systems) > 1 else ""
        columns += [f"{prefix}accuracy", f"{prefix}errors per report", f"{prefix}n"]
    rows = []
    for row in section.rows:
        cells: list[object] = [tag_label(row[0].tag)]
        for category in row:
            errors = _mean_std_text(category.errors_per_report)
            cells += [format_number(category.accuracy), errors, category.num_readable]
        rows.append(cells)
    return text_frame(columns, rows)


def accuracy_frame(summary: ErrorSummary, section: _CategorySection) -> pd.DataFrame:
    """Return the table of accuracies, one column per system, for narrow screens."""
    names = [system_label(system) for system in summary.systems] if len(summary.systems) > 1 else [""]
    rows = []
    for row in section.rows:
        cells = [f"{format_number(category.accuracy)} (n {category.num_readable})" for category in row]
        rows.append([tag_label(row[0].tag), *cells])
    return text_frame(["accuracy", *names], rows)


def _mean_std_text(value: MeanOverReports, digits: int = 2) -> str:
    """Return a mean with its standard deviation, such as "0.50 ± 0.25"; "–" without reports."""
    return "–" if value.mean is None else f"{format_number(value.mean, digits)} ± {format_number(value.std, digits)}"


def cluster_share_text(cluster: ErrorCluster, category: CategorySummary) -> str:
    """Return the size of a cluster in words, such as "3 of 4 described errors (75 %)"."""
    share = f"{cluster.fraction:.0%}".replace("%", " %")
    return f"{cluster.size} of {category.num_described} described errors ({share})"


def empty_category_text(category: CategorySummary) -> str:
    """Return why a category shows no sentence."""
    if not category.num_readable:
        return "no report whose error count could be parsed"
    if not category.total_errors:
        return f"no error in {report_count_text(category.num_readable)}"
    return f"{category.total_errors:g} errors counted, none described"


def report_count_text(count: int) -> str:
    """Return a number of reports, such as "1 report"."""
    return f"{count} report{'s' * (count != 1)}"


def footnotes(summary: ErrorSummary) -> list[str]:
    """Return notes on the missing data of each system and on the settings of the summary."""
    notes: list[str] = []
    for system in summary.systems:
        prefix, statistics = f"{system_label(system)}: " if len(summary.systems) > 1 else "", system.statistics
        reasons = list(statistics.unscored_reasons.items())
        notes += [
            f"{prefix}{report_count_text(count)} without a score: {reason}"
            for reason, count in reasons[:_MAX_STATUS_REASONS]
        ]
        if others := reasons[_MAX_STATUS_REASONS:]:
            rest = sum(count for _, count in others)
            notes.append(f"{prefix}{report_count_text(rest)} without a score for {len(others)} other reasons")
        if statistics.num_truncated:
            notes.append(f"{prefix}{report_count_text(statistics.num_truncated)} truncated to the model's limit")
        if statistics.num_cut_off:
            notes.append(f"{prefix}{statistics.num_cut_off} answers cut off at the maximum length")
        notes += [f"{prefix}{note}" for note in _undescribed_error_notes(system.categories)]
    if summary.num_truncated:
        notes.append(f"{summary.num_truncated} distinct descriptions truncated to the encoder's limit")
    notes.append(f"Embeddings: {summary.encoder}; seed {summary.seed}")
    notes += [f"{file}: SHA-256 {digest}" for file, digest in summary.files.items()]
    return notes


def _undescribed_error_notes(categories: Sequence[CategorySummary]) -> list[str]:
    return [
        f"{tag_label(category.tag)}{'' if category.significant else ' (insignificant)'}: "
        f"{category.num_described} of {category.total_errors:g} counted errors described"
        for category in categories
        if category.num_described < category.total_errors
    ]


def plot_caption(summary: ErrorSummary) -> str:
    """Return the caption of the plot, or the reason why it is missing."""
    layout = summary.layout
    if layout.failure:
        return f"No plot: {layout.failure}."
    is_separated = any(not category.significant for category in summary.systems[0].categories)
    errors = f"distinct descriptions of {'significant errors' if is_separated else 'errors'}"
    count = f"{len(layout.positions)} {errors}"
    if len(layout.positions) < layout.num_sentences:
        count = f"a random sample of {len(layout.positions)} of {layout.num_sentences} {errors}"
    return (
        f"t-SNE of the embeddings of {count}, perplexity {layout.perplexity:.3g}. Larger points are more frequent "
        "errors. Close points have similar meanings; the axes and the distances between groups have no meaning."
    )
