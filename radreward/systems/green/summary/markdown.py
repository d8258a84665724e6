"""Summary in Markdown."""

from __future__ import annotations

import re

from radreward.io.text_tables import escape_markdown, markdown_table
from radreward.systems.green.summary import captions
from radreward.systems.green.summary.category_statistics import CategorySummary
from radreward.systems.green.summary.summary import ErrorSummary


def summary_markdown(summary: ErrorSummary) -> str:
    """Return the summary as Markdown, with all texts of models and reports escaped."""
    parts = [
        f"# {escape_markdown_line(captions.page_title(summary))}",
        markdown_table(captions.statistics_frame(summary), escape_markdown_line),
        escape_markdown_line(captions.METHOD_NOTE),
    ]
    for section in captions.category_sections(summary):
        table = markdown_table(captions.category_frame(summary, section), escape_markdown_line)
        parts += [f"## {section.title}", table]
        for row in section.rows:
            label = escape_markdown_line(captions.tag_label(row[0].tag))
            parts += [f"### {label}", "\n".join(_cluster_lines(summary, row))]
    parts += ["## Plot", escape_markdown_line(captions.plot_caption(summary))]
    if summary.points:
        parts.append("The points are plotted in summary.html and listed in summary.json.")
    notes = "\n".join(f"- {escape_markdown_line(note)}" for note in captions.footnotes(summary))
    return "\n\n".join([*parts, "## Notes", notes]) + "\n"


def escape_markdown_line(text: str) -> str:
    r"""Return a text in one line without any markup, entity, formula or link.

    >>> print(escape_markdown_line("<b> & a_b\n\n# see https://x.org"))
    \<b\> \& a\_b \# see https\://x.org
    """
    escaped = re.sub(r"[~#$!^=]", r"\\\g<0>", escape_markdown(text))
    # Many Markdown dialects turn bare addresses into links, and a sign or number at the start of a line into a list.
    escaped = re.sub(r":(?=//)|(?<=www)\.|(?<=\w)@", r"\\\g<0>", escaped, flags=re.IGNORECASE)
    return re.sub(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+]))", r"\1\\", escaped)


def _cluster_lines(summary: ErrorSummary, row: tuple[CategorySummary, ...]) -> list[str]:
    lines = []
    for system, category in zip(summary.systems, row, strict=True):
        prefix = f"{escape_markdown_line(captions.system_label(system))}: " if len(summary.systems) > 1 else ""
        if not category.clusters:
            lines.append(f"- {prefix}{captions.empty_category_text(category)}")
        for index, cluster in enumerate(category.clusters):
            quote = cluster.quotes[0]
            share = captions.cluster_share_text(cluster, category)
            report = f"report {escape_markdown_line(quote.report_id)}"
            text = f"“{escape_markdown_line(quote.sentence)}” – {share}, {report}"
            lines.append(f"    - {text}" if index else f"- {prefix}{text}")
    return lines
