"""A summary in Markdown."""

from __future__ import annotations

import re

from radreward.io.text_tables import escape_markdown, markdown_table
from radreward.prompts.generative_template import one_line
from radreward.systems.green.summary import captions as told
from radreward.systems.green.summary.summary import CategorySummary, ErrorSummary


def summary_markdown(summary: ErrorSummary) -> str:
    """The summary as one text; what models wrote is text in it and nothing else."""
    parts = [
        f"# {escape_markdown_line(told.page_title(summary))}",
        markdown_table(*told.score_rows(summary), escape_markdown_line),
        escape_markdown_line(told.METHOD_NOTE),
    ]
    for section in told.category_sections(summary):
        parts += [f"## {section.title}", markdown_table(*told.category_rows(summary, section), escape_markdown_line)]
        for row in section.rows:
            parts += [
                f"### {escape_markdown_line(told.category_label(row[0]))}",
                "\n".join(_cluster_lines(summary, row)),
            ]
    parts += ["## Plot", escape_markdown_line(told.plot_caption(summary))]
    if summary.points:
        parts.append("The points are drawn in summary.html and listed in summary.json.")
    notes = [*told.footnotes(summary), *(f"{file}: sha256 {digest}" for file, digest in summary.files.items())]
    parts += ["## Notes", "\n".join(f"- {escape_markdown_line(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def escape_markdown_line(text: str) -> str:
    r"""Text in one line that Markdown takes as it stands: no markup, entity, formula or link comes of it.

    >>> print(safe("<b> & a_b\n\n# see https://x.org"))
    \<b\> \& a\_b \# see https\://x.org
    """
    escaped = re.sub(r"[&~#$!^=]", r"\\\g<0>", escape_markdown(one_line(text)))
    # Bare addresses become links in many dialects, and a mark at the start of a line begins a list.
    escaped = re.sub(r":(?=//)|(?<=www)\.|(?<=\w)@", r"\\\g<0>", escaped, flags=re.IGNORECASE)
    return re.sub(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+]))", r"\1\\", escaped)


def _cluster_lines(summary: ErrorSummary, row: tuple[CategorySummary, ...]) -> list[str]:
    lines = []
    for system, category in zip(summary.systems, row, strict=True):
        before = f"{escape_markdown_line(told.system_label(system))}: " if len(summary.systems) > 1 else ""
        if not category.clusters:
            lines.append(f"- {before}{told.empty_category_text(category)}")
        for place, cluster in enumerate(category.clusters):
            quote = cluster.quotes[0]
            shown = f"“{escape_markdown_line(quote.sentence)}” – {told.cluster_share_text(cluster, category)}, report {escape_markdown_line(quote.report_id)}"
            lines.append(f"{'    ' * (place > 0)}- {before * (place == 0)}{shown}")
    return lines
