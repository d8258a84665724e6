"""A report in sentences, with their places in it."""

from __future__ import annotations

import re

_CANDIDATE_END = re.compile(
    r"""(?<![.!?])[.!?]++["')\]]*+(?=\s|$)  # stops, with what closes after them, before white space
    |(?<=[a-z]{2})\.(?=[A-Z][a-z])          # a forgotten space: "No effusion.The heart"
    |\n(?=[^\S\n]*+\n)                      # an empty line
    |\n(?=[^\S\n]*+(?:[-*\u2022]\s|\d{1,2}\s?[.)]\s|[A-Z][A-Z /]{2,40}:))  # before an item or a heading""",
    re.VERBOSE,
)
"""Where a sentence may end; possessive repeats keep the time linear in the length of any text."""
_ABBREVIATION = re.compile(r"\b(?:dr|drs|mr|mrs|ms|prof|st|vs|approx|e\.g|i\.e|eg|ie|cf|resp|incl|ca|fig|figs)$", re.I)
_POSSIBLE_ABBREVIATION = re.compile(
    r"\b(?:[ap]\.m|etc|min|max|post|ant|lat|sup|inf|rt|lt|temp|et al|jr|sr|m\.d)$", re.I
)
_UNIT = re.compile(r"\d\s?(?:cm|mm|ml|cc)$", re.I)
_CONTINUATION = re.compile(r"\s*(?:in|x|by|from|above|below|at|of|on|and|or|to|thick|long|wide)\b")
_NUMBER_ABBREVIATION = re.compile(r"\b(?:no|nos|ser|im|img|se)$", re.I)
_INITIAL = re.compile(r"\b(?:[Dd]rs?\.|[Pp]rof\.|[Mm]rs?\.|[Mm]s\.|[Bb]y|[A-Z]\.)\s[A-Z]$")
_LIST_ITEM = re.compile(r"(?:^|[:;\n]\s*)\(?(?:\d{1,2}|[a-z])\s?$", re.I)
_SENTENCE_START = re.compile(r"\s*(?!XXXX)(?:[A-Z]|\(?\d{1,2}\s?[.)]\s)")
_INTEGER_PART = re.compile(r"\d\s$")
_DECIMAL_PART = re.compile(r"\s\d+\s*(?:mm|cm|ml|cc|x)\b", re.I)
_HAS_WORD = re.compile(r"[^\W_]|__")
_CONTEXT_LENGTH = 24
"""Characters before a stop that say what it is."""


def sentence_spans(report: str) -> list[tuple[int, int]]:
    r"""Start and end of every sentence; between them, before and after there is no word.

    A sentence ends at `.`, `!` or `?` before white space, at an empty line, and where a line begins an item or a
    heading. Not at the point of an abbreviation, an initial, a number of a list or a decimal; a line that is merely
    wrapped goes on. What has no letter or digit is no sentence; the marks of texts without names, "XXXX" and "___",
    are words. The time is linear in the length of the text.

    >>> text = "1. Seen by Dr. ___ at 2 p.m. today. 2. Nodule of 1.5 cm vs. XXXX. no edema ."
    >>> [text[start:end] for start, end in sentences(text)]
    ['1. Seen by Dr. ___ at 2 p.m. today.', '2. Nodule of 1.5 cm vs. XXXX.', 'no edema .']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in _CANDIDATE_END.finditer(report):
        if report[stop.start()] == "\n" or _is_sentence_end(report, start, stop):
            spans.append((start, stop.end()))
            start = stop.end()
    pieces = ((start, report[start:end]) for start, end in [*spans, (start, len(report))])
    return [
        (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
        for start, piece in pieces
        if _HAS_WORD.search(piece)
    ]


def split_sentences(report: str) -> list[str]:
    """The sentences as texts.

    >>> split_sentences("No effusion.The heart is normal")
    ['No effusion.', 'The heart is normal']
    """
    return [report[start:end] for start, end in sentence_spans(report)]


def _is_sentence_end(report: str, start: int, stop: re.Match[str]) -> bool:
    """Whether stops that could end the sentence that begins at `start` do."""
    before = report[max(start, stop.start() - _CONTEXT_LENGTH) : stop.start()]
    if stop.start() - _CONTEXT_LENGTH <= start:
        before = before.lstrip()
    if not stop[0].startswith("."):
        return bool(before) and not before[-1].isspace() and before[-1] not in "(["  # "? effusion", "(?)"
    if len(stop[0]) > 1:  # "...", or closed by a quote or a bracket
        return True
    after = report[stop.end() : stop.end() + _CONTEXT_LENGTH]
    follows = after.lstrip()[:1]
    if not follows:
        return True
    if _LIST_ITEM.search(before) or _ABBREVIATION.search(before) or _INITIAL.search(before):
        return False
    if _NUMBER_ABBREVIATION.search(before):
        return not follows.isdigit()
    if _UNIT.search(before):
        return not _CONTINUATION.match(after)
    if _INTEGER_PART.search(before):
        return not _DECIMAL_PART.match(after)  # "2 . 5 cm", as tokenised texts have it
    return not _POSSIBLE_ABBREVIATION.search(before) or bool(_SENTENCE_START.match(after))
