"""Summary as a self-contained HTML page without scripts."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from radreward.systems.green.summary import captions
from radreward.systems.green.summary.scatter_plot import COLORS, MARKERS, scatter_svg
from radreward.systems.green.summary.summary import ErrorSummary


def summary_html(summary: ErrorSummary) -> str:
    """Return the page, with all texts of models and reports escaped."""
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tags = [category.tag for category in summary.systems[0].categories if category.significant]
    style = (folder / "summary.css").read_text(encoding="utf-8")
    style += "".join(f".c{index} {{ color: {color}; }}\n" for index, color in enumerate(COLORS))
    return environment.get_template("template.html").render(
        summary=summary,
        captions=captions,
        sections=captions.category_sections(summary),
        style=style,
        style_hash=b64encode(sha256(style.encode()).digest()).decode(),
        panels=_panels(summary, tags),
        legend=_legend(summary, tags),
    )


def _panels(summary: ErrorSummary, tags: list[str]) -> list[tuple[str, Markup, str]]:
    """Return the name, the plot and the caption of each system. All plots have the same scale."""
    panels = []
    for system in summary.systems if summary.points else ():
        points = [point for point in summary.points if point.system == system.system]
        count = sum(point.frequency for point in points)
        name = captions.system_label(system)
        label = f"Scatter plot of {count} errors of {name} at {len(points)} points"
        caption = f"{count} errors in {captions.report_count_text(system.statistics.num_reports)}"
        panels.append((name, scatter_svg(points, tags, label), caption))
    return panels


def _legend(summary: ErrorSummary, tags: list[str]) -> list[tuple[int, str, str]]:
    """Return the color index, the marker and the name of each category in the plots."""
    plotted = {point.tag for point in summary.points}
    return [
        (index % len(COLORS), MARKERS[index % len(MARKERS)][1], captions.tag_label(tag))
        for index, tag in enumerate(tags)
        if tag in plotted
    ]
