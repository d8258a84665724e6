"""The words and rows of a summary, the same in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.io.text_tables import plain
from radreward.systems.green.summary.clusters import Cluster
from radreward.systems.green.summary.summary import Category, Summary, SystemSummary

REASONS = 5
"""Most reasons that are listed of why reports have no score; all are in the JSON."""

METHOD = (
    "Accuracy is the share of reports without an error of the category, of the n reports whose number of such errors "
    "could be read; ± is the sample standard deviation over reports. Errors in words are put together by k-means of "
    "their embeddings, k by the silhouette; shown is the sentence nearest the centre of the largest cluster, with the "
    "cluster's share of the category's errors in words and the first report of which it was said."
)


class Section(NamedTuple):
    """Categories of one weight for the patient, with those of each system."""

    title: str
    rows: tuple[tuple[Category, ...], ...]
    """By category, then by system."""


def title(summary: Summary) -> str:
    """What the page is called."""
    names = [system.system for system in summary.systems if system.system is not None]
    return "Errors of " + (
        " and ".join([", ".join(names[:-1]), names[-1]][len(names) < 2 :]) if names else "the reports"
    )


def system_name(system: SystemSummary) -> str:
    """What a system is called in a table."""
    return "all reports" if system.system is None else system.system


def category_name(category: Category) -> str:
    """What a category is called."""
    return category.tag.replace("_", " ")


def sections(summary: Summary) -> list[Section]:
    """The categories that matter, and those that do not where the model tells them apart."""
    apart = any(not category.significant for category in summary.systems[0].categories)
    parts = {True: "Clinically significant errors" if apart else "Errors", False: "Clinically insignificant errors"}
    rows = list(zip(*(system.categories for system in summary.systems), strict=True))
    found = [Section(name, tuple(row for row in rows if row[0].significant == kind)) for kind, name in parts.items()]
    return [section for section in found if section.rows]


def scores(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the score of each system."""
    rows = []
    for system in summary.systems:
        found = system.readings
        spread = "–" if found.score.mean is None else f"{plain(found.score.mean)} ± {plain(found.score.sd)}"
        without = found.reports - found.score.n
        rows.append([system_name(system), spread, str(found.score.n), str(without)])
    return ["", f"{summary.score} (mean ± SD)", "n", "without a score"], rows


def figures(summary: Summary, section: Section) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: accuracy, mean and n of each category, system beside system."""
    several = len(summary.systems) > 1
    heads = [""]
    for system in summary.systems:
        before = f"{system_name(system)}: " if several else ""
        heads += [f"{before}accuracy", f"{before}errors a report", f"{before}n"]
    rows = []
    for row in section.rows:
        cells = [category_name(row[0])]
        for category in row:
            cells += [plain(category.accuracy), spread(category), str(category.n)]
        rows.append(cells)
    return heads, rows


def accuracies(summary: Summary, section: Section) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the accuracy of each category, a column for each system, for narrow places."""
    several = len(summary.systems) > 1
    heads = ["accuracy", *(system_name(system) if several else "" for system in summary.systems)]
    rows = [
        [category_name(row[0]), *(f"{plain(category.accuracy)} (n {category.n})" for category in row)]
        for row in section.rows
    ]
    return heads, rows


def spread(category: Category) -> str:
    """Mean and standard deviation of the errors of a report."""
    return "–" if category.errors.mean is None else f"{plain(category.errors.mean, 2)} ± {plain(category.errors.sd, 2)}"


def share(cluster: Cluster, category: Category) -> str:
    """How many errors a cluster holds.

    >>> from radreward.systems.green.summary.category_statistics import Mean
    >>> category = Category("omission", True, 9, 0, 0.5, Mean(9, 1.0, 0.5), 9.0, 4, ())
    >>> share(Cluster(3, 0.75, ()), category)
    '3 of 4 errors in words (75 %)'
    """
    return f"{cluster.size} of {category.in_words} errors in words ({cluster.share:.0%})".replace("%", " %")


def nothing(category: Category) -> str:
    """Why a category has no sentence to show.

    >>> from radreward.systems.green.summary.category_statistics import Mean
    >>> nothing(Category("omission", True, 9, 0, 1.0, Mean(9, 0.0, 0.0), 0.0, 0, ()))
    'no error in 9 reports'
    """
    if not category.n:
        return "no report whose number of errors could be read"
    if not category.total:
        return f"no error in {reports(category.n)}"
    return f"{category.total:g} errors counted, none of them in words"


def reports(number: int) -> str:
    """A number of reports.

    >>> reports(1), reports(0)
    ('1 report', '0 reports')
    """
    return f"{number} report{'s' * (number != 1)}"


def notes(summary: Summary) -> list[str]:
    """What was not read, system by system, and how the summary was made."""
    several = len(summary.systems) > 1
    told: list[str] = []
    for system in summary.systems:
        before, found = f"{system_name(system)}: " if several else "", system.readings
        reasons = list(found.unscored.items())
        told += [f"{before}{reports(number)} without a score: {reason}" for reason, number in reasons[:REASONS]]
        if len(reasons) > REASONS:
            rest = sum(number for _, number in reasons[REASONS:])
            told.append(f"{before}{reports(rest)} without a score for {len(reasons) - REASONS} other reasons")
        if found.truncated:
            told.append(f"{before}{reports(found.truncated)} cut to the model's limit before they were judged")
        if found.cut_off:
            told.append(f"{before}{found.cut_off} answers reached their longest length before they ended")
        told += [f"{before}{line}" for line in _without_words(system.categories)]
    if summary.cut:
        told.append(f"{summary.cut} different sentences are embedded by their first 256 tokens")
    told.append(f"Embeddings: {summary.encoder}; seed {summary.seed}")
    return told


def plot_told(summary: Summary) -> str:
    """What the plot shows."""
    plot = summary.plot
    if plot.problem:
        return f"No plot: {plot.problem}."
    errors = "significant errors" if any(not kind.significant for kind in summary.systems[0].categories) else "errors"
    count = f"{len(plot.places)} different {errors} in words"
    if len(plot.places) < plot.sentences:
        count = f"{len(plot.places)} of {plot.sentences} different {errors} in words, drawn at random"
    return (
        f"t-SNE of the embeddings of {count}, perplexity {plot.perplexity:.3g}. The larger a point, the more often "
        "the error was said. Near points mean alike; axes and distances between groups mean nothing."
    )


def _without_words(categories: Sequence[Category]) -> list[str]:
    """Where the model counted more errors than it put in words."""
    return [
        f"{category_name(category)}{'' if category.significant else ' (insignificant)'}: {category.in_words} errors in "
        f"words of {category.total:g} counted"
        for category in categories
        if category.in_words < category.total
    ]
