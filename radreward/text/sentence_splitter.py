"""Sentences of a report, with their offsets."""

from __future__ import annotations

import re
from functools import lru_cache

PAIRS_READ_TOGETHER = 256
"""Pairs of reports that scorers take together. The caches keep their readings, so that memory is flat in long runs."""
CACHED_REPORTS = 2 * PAIRS_READ_TOGETHER
"""Reports whose readings each cache keeps."""
CACHED_SENTENCES = 12 * CACHED_REPORTS
"""Sentences whose readings each cache keeps: most reports have 5 to 10."""
LINE_START = re.compile(r"[-*\u2022]\s|\d{1,2}\s?[.)]\s|[A-Z][A-Z /]{2,40}:")
"""Start of a line that begins a sentence: an item of a list, or a heading."""
_CANDIDATE_END = re.compile(
    r"""(?<![.!?])[.!?]++["')\]]*+(?=\s|$)  # stops, closing quotes or brackets, then white space
    |(?<=[a-z]{2})\.(?=[A-Z][a-z])          # a missing space: "No effusion.The heart"
    |\n(?=[^\S\n]*+\n)                      # an empty line
    |\n(?=[^\S\n]*+(?:"""  # before an item or a heading
    + LINE_START.pattern
    + "))",
    re.VERBOSE,
)
"""Possible end of a sentence. Possessive quantifiers make the time linear in the length of the text."""
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
"""Number of characters before and after a stop that decide if it ends a sentence."""

_STOP = re.compile(
    r"(?:(?<=[.!])|(?<=[^\s(\[]\?))\s+(?=\S)(?!(?<=\? )(?i:nil|no|none|not seen|yes)[.,;])"
    r"|(?<=[a-z]{2}\.)(?=[A-Z][a-z])"
)
_ENDS_WITH_ABBREVIATION = re.compile(r"\b(?:dr|mr|ms|mrs|vs|approx|(?<!\? )no|(?<!\d)\d{1,3})\.$", re.IGNORECASE)


@lru_cache(CACHED_REPORTS)
def sentence_spans(report: str) -> tuple[tuple[int, int], ...]:
    r"""Return start and end of every sentence, in linear time. Together, the sentences contain every word.

    A sentence ends at `.`, `!` or `?` before white space, at an empty line, and before a line that starts an item or a
    heading. It does not end at the point of an abbreviation, initial, list number or decimal, nor at any other line
    break. Text without a letter or digit is no sentence; the anonymization marks "XXXX" and "___" are words.

    >>> text = "1. Seen by Dr. ___ at 2 p.m. today. 2. Nodule of 1.5 cm vs. XXXX. no edema ."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['1. Seen by Dr. ___ at 2 p.m. today.', '2. Nodule of 1.5 cm vs. XXXX.', 'no edema .']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in _CANDIDATE_END.finditer(report):
        if report[stop.start()] == "\n" or _is_sentence_end(report, start, stop):
            spans.append((start, stop.end()))
            start = stop.end()
    pieces = ((start, report[start:end]) for start, end in [*spans, (start, len(report))])
    return tuple(
        (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
        for start, piece in pieces
        if _HAS_WORD.search(piece)
    )


def split_sentences(report: str) -> list[str]:
    """Return the sentences of a report.

    >>> split_sentences("No effusion.The heart is normal")
    ['No effusion.', 'The heart is normal']
    """
    return [report[start:end] for start, end in sentence_spans(report)]


def split_at_stops(text: str) -> list[str]:
    r"""Split a text with single spaces at its stops and empty lines; the parts have all of it but white space.

    The report parser uses this simpler rule because the training data of shipped models depend on it. On text of the
    report grammar, it gives the same sentences as `split_sentences`.

    >>> split_at_stops("1. No edema. 2. Seen by Dr. ___ today\n\nLeft effusion.Stable.")
    ['1. No edema.', '2. Seen by Dr. ___ today', 'Left effusion.', 'Stable.']
    """
    sentences: list[list[str]] = []
    for paragraph in text.strip().split("\n\n"):
        sentences.append([])
        parts = _STOP.split(paragraph)
        for part, following in zip(parts, [*parts[1:], ""], strict=True):
            sentences[-1].append(part)
            is_answer = part.lower().endswith(("no.", "n.")) and not following[:1].isdigit()
            if is_answer or not _ENDS_WITH_ABBREVIATION.search(part):
                sentences.append([])
    return [sentence for parts in sentences if (sentence := " ".join(parts))]


def _is_sentence_end(report: str, start: int, stop: re.Match[str]) -> bool:
    """Return True if a candidate stop ends the sentence that starts at `start`."""
    before = report[max(start, stop.start() - _CONTEXT_LENGTH) : stop.start()]
    if stop.start() - _CONTEXT_LENGTH <= start:
        before = before.lstrip()
    if not stop[0].startswith("."):
        return bool(before) and not before[-1].isspace() and before[-1] not in "(["  # "? effusion", "(?)"
    if len(stop[0]) > 1:  # "...", or closed by a quote or a bracket
        return True
    after = report[stop.end() : stop.end() + _CONTEXT_LENGTH]
    next_character = after.lstrip()[:1]
    if not next_character:
        return True
    if _LIST_ITEM.search(before) or _ABBREVIATION.search(before) or _INITIAL.search(before):
        return False
    if _NUMBER_ABBREVIATION.search(before):
        return not next_character.isdigit()
    if _UNIT.search(before):
        return not _CONTINUATION.match(after)
    if _INTEGER_PART.search(before):
        return not _DECIMAL_PART.match(after)  # "2 . 5 cm" in tokenized texts
    return not _POSSIBLE_ABBREVIATION.search(before) or bool(_SENTENCE_START.match(after))
