"""HTML in which text is text: what is not made by `element` is escaped."""

from __future__ import annotations

import html
from base64 import b64encode
from hashlib import sha256

VOID = frozenset({"meta", "line", "circle", "path", "rect"})


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float) -> Markup:
    """An element; children that are no `Markup` are text.

    An underscore in the name of an attribute is a hyphen, one at its end is dropped.

    >>> element("p", "1 < 2 ", element("b", "&"), class_="x y")
    '<p class="x y">1 &lt; 2 <b>&amp;</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    if name in VOID and not children:
        return Markup(f"<{name}{given}>" if name == "meta" else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Children side by side, text among them escaped.

    >>> joined("<", element("br"))
    '&lt;<br></br>'
    """
    return Markup("".join(child if isinstance(child, Markup) else html.escape(child) for child in children))


def said(text: str) -> Markup:
    """Text of others: its direction of writing stays its own."""
    return element("bdi", text)


def page(title: str, style: str, *body: str) -> str:
    """A document with one style and nothing else: no script, no image, no link to anything outside."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{element('html', head, element('body', *body), lang='en')}\n"
