"""Text files of vocabulary and wording: lines in sections, each under a title in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources


def read_sections(name: str, package: str = "radreward.text") -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of a file in a package. A colon in a title starts a comment.

    >>> read_sections("significance.txt")["age"]
    ('aorticcalc tortuous degenerative kyphosis shoulder',)
    """
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    sections: dict[str, tuple[str, ...]] = {}
    for block in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
        title, *lines = block.splitlines()
        sections[title.removesuffix("]").partition(":")[0]] = tuple(line for line in lines if line)
    return sections


def phrases_of(lines: Iterable[str]) -> list[str]:
    """Return the phrases of a section in which semicolons separate them.

    >>> phrases_of(["has resolved; no longer;", "resolved"])
    ['has resolved', 'no longer', 'resolved']
    """
    return [phrase for line in lines for entry in line.split(";") if (phrase := entry.strip())]
