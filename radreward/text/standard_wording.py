"""The wording in which small encoders read reports: sizes in mm, abbreviations written out."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

ABBREVIATIONS = {
    "RLL": "right lower lobe",
    "LLL": "left lower lobe",
    "RUL": "right upper lobe",
    "LUL": "left upper lobe",
    "RML": "right middle lobe",
    "ETT": "endotracheal tube",
    "NGT": "nasogastric tube",
    "OGT": "orogastric tube",
    "SVC": "superior vena cava",
    "CVC": "central venous catheter",
    "PTX": "pneumothorax",
    "b/l": "bilateral",
    "w/o": "without",
    "w/": "with",
    "R": "right",
    "L": "left",
}
"""Abbreviations that mean one thing in a chest report; those of a single letter count as capitals only."""
_NUMBER = r"\d{1,3}(?:\.\d{1,2})?"
_WORDS = "|".join(re.escape(short) for short in ABBREVIATIONS if len(short) > 1 and short[-1] != "/")
_PATTERN = re.compile(
    rf"(?<![\w.])(?P<sizes>{_NUMBER}(?:\s?(?:x|by)\s?{_NUMBER})*)[\s-]?(?P<unit>[cm]m)\b"
    rf"|(?<!\w)(?P<word>(?i:{_WORDS})\b|(?i:w/)|(?<!/)[LR]\b(?=[ -][A-Za-z])(?! spine))"
)
_LONG_FORMS = {short.lower(): long for short, long in ABBREVIATIONS.items()}


class StandardWording(NamedTuple):
    """A text in standard wording, and where each part of it comes from."""

    text: str
    parts: list[tuple[int, int]]
    """Original start and end of each part: unchanged parts and replaced ones in turn."""
    starts: list[int]
    """Start of each part in the text, in order."""

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the original that a span of the text comes from; of a replaced part, all.

        >>> standard_wording("Mass of 1.2 cm.").original_span(8, 10)
        (8, 14)
        """
        return self._origin(start, 0), self._origin(max(start, end - 1), 1)

    def _origin(self, position: int, side: int) -> int:
        """Return where the original of a character starts (side 0) or ends (side 1)."""
        number = bisect_right(self.starts, position) - 1
        part, is_replaced = self.parts[number], number % 2
        return part[side] if is_replaced else part[0] + position - self.starts[number] + side


def standard_wording(text: str) -> StandardWording:
    """Return a text with sizes in mm and the abbreviations of `ABBREVIATIONS` written out.

    Encoders compare words, not quantities: "1.2 cm" and "12 mm" have no number in common.

    >>> standard_wording("A 1.2 x 0.8 cm RLL nodule, R-sided effusion w/o PTX.").text
    'A 12 x 8 mm right lower lobe nodule, right-sided effusion without pneumothorax.'
    """
    texts: list[str] = []
    parts: list[tuple[int, int]] = []
    end = 0
    for match in _PATTERN.finditer(text):
        texts += [text[end : match.start()], _replacement(match)]
        parts += [(end, match.start()), match.span()]
        end = match.end()
    texts.append(text[end:])
    parts.append((end, len(text)))
    return StandardWording("".join(texts), parts, [0, *accumulate(map(len, texts[:-1]))])


def _replacement(match: re.Match[str]) -> str:
    if word := match["word"]:
        is_joined = word[-1] == "/" and match.string[match.end() : match.end() + 1].isalnum()  # "w/tip"
        return _LONG_FORMS[word.lower()] + " " * is_joined
    factor = 10 if match["unit"] == "cm" else 1
    return re.sub(_NUMBER, lambda number: f"{round(factor * float(number[0]), 2):g}", match["sizes"]) + " mm"
