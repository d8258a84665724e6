"""The plane of errors as SVG: a panel for each system, a shape and colour for each category."""

from __future__ import annotations

import math
from collections.abc import Sequence

from radreward.systems.green.summary.captions import report_count_text, system_label
from radreward.systems.green.summary.html_builder import Markup, element, said
from radreward.systems.green.summary.summary import ErrorPoint, ErrorSummary

SIZE, EDGE = 320.0, 12.0
"""Of a panel, and what is left free around its points; in units of the SVG."""
COLOURS, SHAPES = 7, 4
"""Colours of the page; with shapes of another number, 28 categories differ."""


def panels(summary: ErrorSummary, tags: Sequence[str]) -> Markup:
    """A figure for each system on one scale, so that equal places are equal errors."""
    figures = []
    for system in summary.systems:
        points = [point for point in summary.points if point.system == system.system]
        errors = sum(point.num_reports for point in points)
        name = system_label(system)
        drawn = element(
            "svg",
            element("rect", width=SIZE, height=SIZE, class_="plane"),
            *(_point(point, tags.index(point.tag)) for point in sorted(points, key=lambda point: -point.num_reports)),
            viewBox=f"0 0 {SIZE:g} {SIZE:g}",
            class_="chart",
            role="img",
            aria_label=f"Errors of {name} in a plane: {errors} errors at {len(points)} points",
        )
        told = f"{errors} errors in {report_count_text(system.statistics.num_reports)}"
        figures.append(element("figure", drawn, element("figcaption", element("b", said(name)), ": ", told)))
    return element("div", *figures, class_="panels")


def legend(summary: ErrorSummary, tags: Sequence[str]) -> Markup:
    """The mark of each category that has a point."""
    drawn = {point.tag for point in summary.points}
    entries = [
        element(
            "span",
            element("svg", _mark(place, 7, 7, 5), viewBox="0 0 14 14", width=14, height=14, aria_hidden="true"),
            " ",
            said(tag.replace("_", " ")),
        )
        for place, tag in enumerate(tags)
        if tag in drawn
    ]
    return element("p", *entries, class_="legend")


def _point(point: ErrorPoint, place: int) -> Markup:
    inner = SIZE - 2 * EDGE
    x, y = EDGE + inner * point.x, EDGE + inner * (1 - point.y)
    often = (
        f", {point.num_reports} times, first in report {point.report_id}"
        if point.num_reports > 1
        else f", report {point.report_id}"
    )
    told = element("title", f"{point.tag.replace('_', ' ')}: {point.sentence}{often}")
    return element("g", told, _mark(place, x, y, 3.0 + 1.5 * math.log2(point.num_reports)))


def _mark(place: int, x: float, y: float, r: float) -> Markup:
    """A circle, square, diamond or triangle around a place, in about the same area."""
    colour = f"dot s{place % COLOURS}"
    shape = place % SHAPES
    if shape == 0:
        return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{r:.1f}", class_=colour)
    if shape == 1:
        side = 1.8 * r
        corner = f"{x - side / 2:.1f}", f"{y - side / 2:.1f}"
        return element("rect", x=corner[0], y=corner[1], width=f"{side:.1f}", height=f"{side:.1f}", class_=colour)
    reach = 1.3 * r
    corners = [(0.0, -reach), (reach, 0.0), (0.0, reach), (-reach, 0.0)]
    if shape == 3:
        corners = [(0.0, -reach), (reach, 0.8 * reach), (-reach, 0.8 * reach)]
    path = "L".join(f"{x + right:.1f} {y + down:.1f}" for right, down in corners)
    return element("path", d=f"M{path}Z", class_=colour)
