"""A summary in Markdown."""

from __future__ import annotations

import re

from radreward.io.text_tables import markdown_table, markdown_text
from radreward.prompts.generative_template import one_line
from radreward.systems.green.summary import captions as told
from radreward.systems.green.summary.summary import Category, Summary


def markdown(summary: Summary) -> str:
    """The summary as one text; what models wrote is text in it and nothing else."""
    parts = [f"# {safe(told.title(summary))}", markdown_table(*told.scores(summary), safe), safe(told.METHOD)]
    for section in told.sections(summary):
        parts += [f"## {section.title}", markdown_table(*told.figures(summary, section), safe)]
        for row in section.rows:
            parts += [f"### {safe(told.category_name(row[0]))}", "\n".join(_lines(summary, row))]
    parts += ["## Plot", safe(told.plot_told(summary))]
    if summary.points:
        parts.append("The points are drawn in summary.html and listed in summary.json.")
    notes = [*told.notes(summary), *(f"{file}: sha256 {digest}" for file, digest in summary.files.items())]
    parts += ["## Notes", "\n".join(f"- {safe(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def safe(text: str) -> str:
    r"""Text in one line that Markdown takes as it stands: no markup, entity, formula or link comes of it.

    >>> print(safe("<b> & a_b\n\n# see https://x.org"))
    \<b\> \& a\_b \# see https\://x.org
    """
    escaped = re.sub(r"[&~#$!^=]", r"\\\g<0>", markdown_text(one_line(text)))
    # Bare addresses become links in many dialects, and a mark at the start of a line begins a list.
    escaped = re.sub(r":(?=//)|(?<=www)\.|(?<=\w)@", r"\\\g<0>", escaped, flags=re.IGNORECASE)
    return re.sub(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+]))", r"\1\\", escaped)


def _lines(summary: Summary, row: tuple[Category, ...]) -> list[str]:
    lines = []
    for system, category in zip(summary.systems, row, strict=True):
        before = f"{safe(told.system_name(system))}: " if len(summary.systems) > 1 else ""
        if not category.clusters:
            lines.append(f"- {before}{told.nothing(category)}")
        for place, cluster in enumerate(category.clusters):
            quote = cluster.quotes[0]
            shown = f"“{safe(quote.sentence)}” – {told.share(cluster, category)}, report {safe(quote.id)}"
            lines.append(f"{'    ' * (place > 0)}- {before * (place == 0)}{shown}")
    return lines
