"""Pages of the site, with links that work inside it; the home page is the README."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:]+)\)")
_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)(#[^)]*)?\)")
"""Link of a page in docs/ to a file beside that folder."""


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the README as the content of the first page; other pages have links to the site only."""
    if page.file.src_uri != "index.md":
        return _OUTSIDE.sub(_outside_link, markdown)
    return _LINK.sub(_site_link, (ROOT / "README.md").read_text(encoding="utf-8"))


def _site_link(match: re.Match[str]) -> str:
    """Return a link to a page of the site; a link to another file of the repository becomes its path."""
    image, title, target = match.groups()
    if target == "docs/fit.yaml":
        return f"[{title}](settings.md)"
    if target.startswith("docs/"):
        return f"{image}[{title}]({target.removeprefix('docs/')})"
    return f"{title} (`{target}`)"


def _outside_link(match: re.Match[str]) -> str:
    """Return a link to the home page, or the path of another file of the repository."""
    title, target, anchor = match.groups()
    return f"[{title}](index.md{anchor or ''})" if target == "README.md" else f"{title} (`{target}`)"
