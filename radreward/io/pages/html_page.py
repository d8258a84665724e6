"""Assembly of self-contained HTML pages: template, style, scripts and data, under a strict content security policy."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Any, NamedTuple

from radreward.io.pages.json_script import json_for_script

_SHARED_SCRIPTS = ("dom", "numbers", "text_diff", "json_view")
"""Scripts of every page, before its own."""


class HTMLPage(NamedTuple):
    """A complete page."""

    text: str
    policy: str
    """Content security policy in the page; servers send it as a header too."""


def build_page(title: str, data: Any, sources: Traversable, scripts: Iterable[str], connects: bool = False) -> HTMLPage:
    """Return a page without external links.

    The page stores data as JSON, and scripts insert them as text, so they are never parsed as HTML. The content
    security policy forbids other scripts, images and, unless `connects`, connections.

    Args:
        title: Title of the browser window.
        data: JSON values, which scripts read from the element `data`.
        sources: Folder with `page.css` and `js`.
        scripts: Names of the page's scripts in order; a script may use earlier ones and `_SHARED_SCRIPTS`.
        connects: Allow requests to the page's own server.

    Raises:
        ValueError: If a number in the data is NaN or infinite.
    """
    shared = files("radreward.io.pages")
    style = _read(shared, "base.css") + _read(sources, "page.css")
    parts = [_read(shared, "js", f"{name}.js") for name in _SHARED_SCRIPTS]
    parts += [_read(sources, "js", f"{name}.js") for name in scripts]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    policy = (
        f"default-src 'none'; style-src '{_csp_hash(style)}'; script-src '{_csp_hash(script)}'; "
        + "connect-src 'self'; " * connects
        + "base-uri 'none'; form-action 'none'"
    )
    text = Template(_read(shared, "template.html")).substitute(
        title=html.escape(title), policy=policy, style=style, data=json_for_script(data), script=script
    )
    return HTMLPage(text, policy)


def _read(folder: Traversable, *path: str) -> str:
    return folder.joinpath(*path).read_text(encoding="utf-8")


def _csp_hash(source: str) -> str:
    """Return the hash of an inline script or style for the content security policy."""
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"
