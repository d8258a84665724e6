"""A summary as one HTML file that needs nothing else, and no script."""

from __future__ import annotations

from importlib.resources import files

from radreward.io.text_tables import format_number
from radreward.systems.green.summary import captions as told
from radreward.systems.green.summary.clusters import ErrorCluster
from radreward.systems.green.summary.html_builder import Markup, element, page, said
from radreward.systems.green.summary.summary import CategorySummary, ErrorSummary
from radreward.systems.green.summary.svg_plot import legend, panels


def summary_html(summary: ErrorSummary) -> str:
    """The summary as a document; what models wrote is text in it and nothing else."""
    style = "".join(
        files(package).joinpath(name).read_text(encoding="utf-8")
        for package, name in (("radreward.meta_evaluation.page", "page.css"), (__package__, "summary.css"))
    )
    title = told.page_title(summary)
    first, *others = told.category_sections(summary)
    body = [
        element("header", element("h1", said(title)), _table(*told.score_rows(summary)), id="head"),
        _section(summary, first),
        _plot(summary),
        *(_section(summary, section, folded=True) for section in others),
        _notes(summary),
    ]
    return page(title, style, element("main", *body))


def _section(summary: ErrorSummary, section: told.CategorySection, folded: bool = False) -> Markup:
    cards = element("div", *(_card(summary, row) for row in section.rows), class_="cards")
    shown = element("details", element("summary", "Sentences"), cards) if folded else cards
    return element("section", element("h2", section.title), _figures(summary, section), shown)


def _figures(summary: ErrorSummary, section: told.CategorySection) -> Markup:
    """Accuracy with a bar, mean and n, system beside system."""
    several = len(summary.systems) > 1
    above = [element("th", said(told.system_label(system)), colspan=3, class_="of") for system in summary.systems]
    heads = [element("th", name, scope="col", class_=look) for _ in summary.systems for name, look in _HEADS]
    rows = []
    for row in section.rows:
        cells = [element("th", said(told.category_label(row[0])), scope="row")]
        for category in row:
            cells += [
                element("td", format_number(category.accuracy), _bar(category.accuracy), class_="n of"),
                element("td", told.mean_std_text(category), class_="n"),
                element("td", str(category.num_readable), class_="n"),
            ]
        rows.append(element("tr", *cells))
    top = [element("tr", element("td"), *above)] if several else []
    head = element("thead", *top, element("tr", element("td"), *heads))
    return element("div", element("table", head, element("tbody", *rows), class_="figures"), class_="wide")


_HEADS = (("accuracy", "n of"), ("errors a report", "n"), ("n", "n"))


def _bar(value: float | None) -> Markup:
    """A value from 0 to 1 as a length."""
    if value is None:
        return Markup()
    full = element("rect", width=100, height=8, class_="track")
    part = element("rect", width=f"{100 * value:.1f}", height=8, class_="bar")
    return element(
        "svg", full, part, viewBox="0 0 100 8", preserveAspectRatio="none", class_="share", aria_hidden="true"
    )


def _card(summary: ErrorSummary, row: tuple[CategorySummary, ...]) -> Markup:
    sides = []
    for system, category in zip(summary.systems, row, strict=True):
        name = [element("h4", said(told.system_label(system)))] if len(row) > 1 else []
        shown = (
            _clusters(category)
            if category.clusters
            else [element("p", told.empty_category_text(category), class_="muted")]
        )
        sides.append(element("div", *name, *shown))
    head = element("header", element("h3", said(told.category_label(row[0]))))
    return element("article", head, element("div", *sides, class_="sides several"), class_="card")


def _clusters(category: CategorySummary) -> list[Markup]:
    first, *others = category.clusters
    parts = [
        element("blockquote", said(first.quotes[0].sentence)),
        element(
            "p",
            element("small", told.cluster_share_text(first, category), ", report ", said(first.quotes[0].report_id)),
        ),
    ]
    if near := first.quotes[1:]:
        entries = [element("li", said(quote.sentence), _report(quote.report_id)) for quote in near]
        parts.append(element("details", element("summary", "Near it"), element("ul", *entries)))
    if others:
        entries = [_other(cluster, category) for cluster in others]
        text = f"{len(others)} smaller {'group' if len(others) == 1 else 'groups'}"
        parts.append(element("details", element("summary", text), element("ul", *entries)))
    return parts


def _other(cluster: ErrorCluster, category: CategorySummary) -> Markup:
    quote = cluster.quotes[0]
    size = f" – {cluster.size} of {category.num_described}"
    return element("li", said(quote.sentence), element("small", size), _report(quote.report_id))


def _report(id_: str) -> Markup:
    return element("small", " report ", said(id_))


def _plot(summary: ErrorSummary) -> Markup:
    parts = [element("h2", "Errors in a plane"), element("p", told.plot_caption(summary), class_="lead")]
    if summary.points:
        tags = [category.tag for category in summary.systems[0].categories if category.significant]
        parts += [legend(summary, tags), panels(summary, tags)]
    return element("section", *parts, id="plot")


def _notes(summary: ErrorSummary) -> Markup:
    notes = [element("li", said(note)) for note in told.footnotes(summary)]
    notes += [element("li", said(file), f": sha256 {digest}") for file, digest in summary.files.items()]
    return element(
        "section",
        element("h2", "Notes"),
        element("p", told.METHOD_NOTE, class_="lead"),
        element("ul", *notes),
        id="notes",
    )


def _table(heads: list[str], rows: list[list[str]]) -> Markup:
    head = element(
        "tr", *(element("th", name, scope="col", class_="n" if place else "") for place, name in enumerate(heads))
    )
    lines = [
        element("tr", element("th", said(name), scope="row"), *(element("td", cell, class_="n") for cell in cells))
        for name, *cells in rows
    ]
    return element("div", element("table", element("thead", head), element("tbody", *lines)), class_="wide")
