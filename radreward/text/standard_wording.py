"""Standard wording of reports for small encoders: possible findings in one order, sizes in mm, no abbreviations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import NamedTuple, TypeAlias

from radreward.text.abbreviations import ABBREVIATION, long_form, write_out
from radreward.text.entities import FINDING_TYPES, rule_entities
from radreward.text.lexicon import LexicalPhrase, find_phrases
from radreward.text.negation import denial_end, with_one_answer
from radreward.text.normalization import wording_key
from radreward.text.sentence_parser import MAX_SENTENCE_CHARS, parse_sentence
from radreward.text.sentence_splitter import CACHED_REPORTS, CACHED_SENTENCES, sentence_spans
from radreward.text.severity import first_severity

ReadsStatement: TypeAlias = Callable[[str], bool]
"""True for a statement that may report a finding."""
_NUMBER = r"\d{1,3}(?:\.\d{1,2})?"
_SIZES = rf"(?<![\w.])(?P<sizes>{_NUMBER}(?:\s?(?i:x|by)\s?{_NUMBER})*)[\s-]?(?P<unit>(?i:[cm]m))\b"
_PATTERN = re.compile(f"{_SIZES}|{ABBREVIATION.pattern}")
_DENIALS = frozenset(f"Non-{name}" for name in FINDING_TYPES)
_LINK = re.compile(r"[,;/]|\b(?:or|nor|and|no|without|with|of|to|for|in|on|as|by|than)\b", re.IGNORECASE)
"""Signs and words that connect two names in a list or a phrase."""
_LIST_GOES_ON = re.compile(r"(?:(?!\b(?:no|without)\b).)*\b(?:or|nor)\b", re.IGNORECASE | re.DOTALL)
"""An "or" before the next denial."""
_REFERS_BACK = re.compile(
    r"(?:its?|this|that|these|those|they|their|which|both|the (?:latter|former))\b", re.IGNORECASE
)
"""Start of a statement that depends on the one before it."""
_SIDE = re.compile(r"\b(?:left|right|bilateral)\b", re.IGNORECASE)
_POSITIVE = re.compile(r"\bpositive for\b", re.IGNORECASE)


class StandardWording(NamedTuple):
    """A text in standard wording, with the origin of each part."""

    text: str
    parts: list[tuple[int, int]]
    """Start and end of each part in the original. Unchanged and replaced parts alternate; an empty original part is
    replaced by the space between two statements."""
    starts: list[int]
    """Start of each part in the text, in order."""
    original: str
    statement_starts: list[int]
    """Start of each independent statement in the text, in order. One that refers back belongs to the one before it."""

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that a span of the text comes from. A replaced part counts as a whole.

        >>> standard_wording("Mass of 1.2 cm.").original_span(8, 10)
        (8, 14)
        """
        return self._origin(start, 0), self._origin(max(start, end - 1), 1)

    def original_start(self, end: int) -> str:
        """Return the original wording of the first `end` characters of the text, in their order.

        >>> standard_wording("Small R effusion. Mass of 1.2 cm.").original_start(10)
        'Mass of 1.2 cm'
        """
        number = bisect_right(self.starts, max(0, end - 1)) - 1
        spans = [*self.parts[:number], (self.parts[number][0], self._origin(max(0, end - 1), 1))]
        return "".join(self.original[start:stop] or " " * (index % 2) for index, (start, stop) in enumerate(spans))

    def _origin(self, position: int, side: int) -> int:
        """Return the start (side 0) or end (side 1) of a character's original; every second part is replaced."""
        number = bisect_right(self.starts, position) - 1
        part = self.parts[number]
        return part[side] if number % 2 else part[0] + position - self.starts[number] + side


def standard_wording(text: str, reads: ReadsStatement | None = None) -> StandardWording:
    """Return the statements of a text that may report a finding, with sizes in mm and `ABBREVIATIONS` written out.

    Other statements count neither as right nor as wrong, see `may_report_finding`. The statements are in alphabetical
    order, without repetitions, so that the order of independent statements does not matter. A statement that refers
    back, such as "It is stable.", remains after the statement before it. Sizes need one unit because encoders compare
    words, and "1.2 cm" and "12 mm" have no number in common.

    Args:
        text: A report.
        reads: True for a statement that is kept; `may_report_finding` by default.

    >>> standard_wording("The heart is normal. R-sided effusion w/o PTX. A 1.2 x 0.8 cm RLL nodule.").text
    'A 12 x 8 mm right lower lobe nodule. right-sided effusion without pneumothorax.'
    """
    return _standard_wording(text, reads or may_report_finding)


@lru_cache(CACHED_REPORTS)  # tokens and offsets of a text are computed one after the other
def _standard_wording(text: str, reads: ReadsStatement) -> StandardWording:
    texts: list[str] = []
    parts: list[tuple[int, int]] = []
    independent: list[int] = []  # number of the first part of each independent statement
    for first, last, refers_back in _ordered_statements(text, reads):
        if parts:
            texts.append(" ")
            parts.append((first, first))
        if not refers_back:
            independent.append(len(parts))
        end = first
        for match in _PATTERN.finditer(text, first, last):
            texts += [text[end : match.start()], _replacement(match)]
            parts += [(end, match.start()), match.span()]
            end = match.end()
        texts.append(text[end:last])
        parts.append((end, last))
    if not parts:
        texts, parts, independent = [""], [(0, 0)], [0]
    starts = [0, *accumulate(map(len, texts[:-1]))]
    return StandardWording("".join(texts), parts, starts, text, [starts[number] for number in independent])


def _ordered_statements(text: str, reads: ReadsStatement) -> list[tuple[int, int, bool]]:
    """Return the statements that are read, in the order of their words, each wording once.

    Each has its start, its end and True if it refers back to the one before it.
    """
    groups: list[list[tuple[int, int]]] = []
    for start, end in chain.from_iterable(_without_denial(text, *span) for span in sentence_spans(text)):
        statement = text[start:end]
        if reads(statement):
            if groups and _REFERS_BACK.match(statement):
                groups[-1].append((start, end))
            else:
                groups.append([(start, end)])
    by_words: dict[str, list[tuple[int, int]]] = {}
    for group in groups:
        by_words.setdefault(" ".join(wording_key(text[slice(*span)]) for span in group), group)
    return [(*span, number > 0) for _, group in sorted(by_words.items()) for number, span in enumerate(group)]


_CLAUSE_START = re.compile(r"(?:,|\band\b|\s|-)+", re.IGNORECASE)


def _without_denial(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a denial at the start of a sentence and of the statement after it, or that of the sentence."""
    if length := denial_end(text[start:end]):
        yield start, start + length
        link = _CLAUSE_START.match(text, start + length)
        yield link.end() if link else start + length, end
    else:
        yield start, end


def _replacement(match: re.Match[str]) -> str:
    if not match["sizes"]:
        return long_form(match)
    factor = 10 if match["unit"].lower() == "cm" else 1
    return re.sub(_NUMBER, lambda number: f"{round(factor * float(number[0]), 2):g}", match["sizes"]) + " mm"


@lru_cache(CACHED_SENTENCES)
def may_report_finding(statement: str) -> bool:
    """Return False for a statement that only denies findings, or calls body parts normal or unchanged.

    Such a statement neither matches a finding nor is an error: a candidate that denies a finding of the reference has
    missed it, and a candidate may deny findings that the reference does not mention. The result is True for statements

    - with unknown words only, about devices, or about findings that have resolved;
    - in which a negation may end without a comma or an "or";
    - that are too long to be one sentence.

    >>> [may_report_finding(text) for text in ("Lungs clear without focal infiltrate.", "Clear lungs. Small effusion.")]
    [False, True]
    >>> [may_report_finding(text) for text in ("The effusion has resolved.", "no effusion mild edema")]
    [True, True]
    """
    if len(statement) > MAX_SENTENCE_CHARS:
        return True
    statement = with_one_answer(write_out(statement))
    parsed = parse_sentence(statement)
    if any(fact.is_stated for fact in parsed.facts):
        return True
    if parsed.is_complete:
        return False
    types = {entity.type for entity in rule_entities(statement)}
    if types & FINDING_TYPES or not types & _DENIALS:
        return True
    phrases = find_phrases(statement)
    names = [phrase for phrase in phrases if phrase.kind in ("finding", "generic", "abnormal")]
    return (
        any(phrase.kind == "device" for phrase in phrases)
        or bool(_POSITIVE.search(statement))
        or _has_unclear_negation(statement, names)
    )


def _has_unclear_negation(statement: str, names: Sequence[LexicalPhrase]) -> bool:
    """Return True if two names have no `_LINK` between them, or only a comma and the second has a severity or side."""
    for first, second in pairwise(names):
        gap = statement[first.end : second.start]
        if not _LINK.search(gap):
            return True
        detailed = statement[second.start : second.end]
        states_detail = bool(first_severity(detailed) or _SIDE.search(detailed))
        if gap.strip() == "," and states_detail and not _LIST_GOES_ON.match(statement, second.end):
            return True
    return False
