"""Scatter plot of error descriptions as inline SVG, drawn by matplotlib.

The page forbids inline styles and scripts. Styles are therefore written as presentation attributes, and the text of a
point as a `<title>`, which browsers show as a tooltip.
"""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from radreward.systems.green.summary.captions import tag_label
from radreward.systems.green.summary.summary import ErrorPoint

COLORS = ("#0072b2", "#d55e00", "#00805c", "#b0578d", "#c58600", "#3d9bd3", "#6b5fb5")
MARKERS = (("o", "●"), ("s", "■"), ("D", "◆"), ("^", "▲"))
"""matplotlib's markers and the same shapes as characters; with seven colors, they distinguish 28 categories."""
_SVG = "http://www.w3.org/2000/svg"
_SIZE = 320
"""Width and height in units of the SVG."""
_MARGIN = 0.04


def scatter_svg(points: Sequence[ErrorPoint], tags: Sequence[str], label: str) -> Markup:
    """Return the plot of one system as SVG, with a label for screen readers. Equal input gives equal output.

    The positions in `tags`, the tags of all categories, determine markers and colors.
    """
    figure = Figure(figsize=(_SIZE / 72, _SIZE / 72))
    axes = figure.add_axes((0, 0, 1, 1), xticks=[], yticks=[])
    axes.set(xlim=(-_MARGIN, 1 + _MARGIN), ylim=(-_MARGIN, 1 + _MARGIN))
    ordered = sorted(points, key=lambda point: -point.frequency)
    for index, point in enumerate(ordered):
        category = tags.index(point.tag)
        [marker] = axes.plot(
            point.x,
            point.y,
            marker=MARKERS[category % len(MARKERS)][0],
            color=COLORS[category % len(COLORS)],
            alpha=0.6,
            markersize=6 + 3 * math.log2(point.frequency),
            markeredgecolor="white",
            markeredgewidth=0.5,
        )
        marker.set_gid(f"point-{index}")
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "radreward"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    titles = {f"point-{index}": _tooltip(point) for index, point in enumerate(ordered)}
    return _inline_svg(buffer.getvalue(), titles, label)


def _tooltip(point: ErrorPoint) -> str:
    frequency = f"{point.frequency} times, first in report" if point.frequency > 1 else "report"
    return f"{tag_label(point.tag)}: {point.sentence}, {frequency} {point.report_id}"


def _inline_svg(svg: bytes, titles: dict[str, str], label: str) -> Markup:
    """Return the SVG without inline styles, with the titles as tooltips of the groups with these ids."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - written by matplotlib, without any text of reports
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}metadata")]:
            parent.remove(child)
    for element in root.iter():
        for declaration in filter(None, element.attrib.pop("style", "").split(";")):
            name, _, value = declaration.partition(":")
            element.set(name.strip(), value.strip())
        if element.tag == f"{{{_SVG}}}g" and (group_id := element.attrib.pop("id", None)) in titles:
            element.set("class", "point")
            title = ElementTree.Element(f"{{{_SVG}}}title")
            title.text = _xml_text(titles[str(group_id)])
            element.insert(0, title)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"class": "chart", "role": "img", "aria-label": _xml_text(label), "stroke-linejoin": "round"}
    ElementTree.register_namespace("", _SVG)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - ElementTree escapes all texts


def _xml_text(text: str) -> str:
    """Return a text without the control characters that XML forbids."""
    return re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
