"""Doctests of docstrings as blocks of code on the site; Markdown takes `>>>` for a quote."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
"""Lines from a prompt to an empty line."""


class DoctestBlocks(Extension):
    """An extension of griffe, which reads the docstrings."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Put the doctests of a docstring into blocks."""
        if obj.docstring:
            obj.docstring.value = _DOCTEST.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
