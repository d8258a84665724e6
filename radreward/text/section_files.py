"""Text files of vocabulary and wording: sections of lines under titles in brackets."""

from __future__ import annotations

import re
from importlib import resources


def read_sections(name: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of a file of this package.

    Args:
        name: Name of the file.
    """
    return _parse_sections(resources.files("radreward.text").joinpath(name).read_text(encoding="utf-8"))


def _parse_sections(text: str) -> dict[str, tuple[str, ...]]:
    r"""Return the lines of each section of a text. A colon in a title starts a comment.

    >>> _parse_sections("# comment\n[organ: names]\nheart;\nlung\n\n[form]\nmild")
    {'organ': ('heart;', 'lung'), 'form': ('mild',)}
    """
    sections: dict[str, tuple[str, ...]] = {}
    for block in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
        title, *lines = block.splitlines()
        sections[title.removesuffix("]").partition(":")[0]] = tuple(line for line in lines if line)
    return sections
