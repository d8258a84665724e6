"""Statements of a report: its sentences, divided where they state several facts, with their offsets."""

from __future__ import annotations

import re
from typing import NamedTuple

from radreward.text.abbreviations import ABBREVIATION, long_form, write_out
from radreward.text.facts import Fact
from radreward.text.report_parser import BODY_SECTIONS, is_heading, parse_report
from radreward.text.sentence_parser import ParsedSentence, parse_sentence

_LINK = re.compile(
    r"(?:\s*(?:[,;:.]|\b(?:and|but|or|nor|with|which|while|whereas|although|though|however|associated)\b))+\s*"
    r"|\s+(?=(?:without|no)\b)",
    re.IGNORECASE,
)
"""Words between two statements that belong to neither."""


class FactStatement(NamedTuple):
    """A part of a report, and what it states."""

    start: int
    end: int
    facts: tuple[Fact, ...]
    """Facts of the same words: a finding, also at several places, or denied findings; empty for other words."""
    sentence: str
    """The sentence that contains it."""


def report_statements(report: str) -> list[FactStatement]:
    """Return the statements of findings and impression, in order.

    Args:
        report: A report, normalized by `normalize_report`.

    >>> report = "Small L effusion and rib fracture. Odd lines. No edema or PTX."
    >>> statements = report_statements(report)
    >>> [report[entry.start : entry.end] for entry in statements]
    ['Small L effusion', 'rib fracture.', 'Odd lines.', 'No edema or PTX.']
    >>> [[fact.finding for fact in entry.facts] for entry in statements]
    [['effusion'], ['ribfx'], [], ['edema', 'pneumothorax']]
    """
    statements: list[FactStatement] = []
    end = 0
    for sentence in parse_report(report).sentences:
        # The parser has spaces at stops that the report may lack.
        found = re.compile(r"\s*".join(map(re.escape, sentence.text.split()))).search(report, end)
        if not found:
            continue
        start, end = found.span()
        if sentence.section in BODY_SECTIONS and (sentence.facts or not is_heading(sentence)):
            statements += [
                FactStatement(start + first, start + last, facts, sentence.text)
                for first, last, facts in _divide(found[0])
            ]
    return statements


def _divide(sentence: str) -> list[tuple[int, int, tuple[Fact, ...]]]:
    """Return the start, the end and the facts of each statement of a sentence; one without facts is whole."""
    parsed, text = parse_sentence(sentence), sentence
    if not parsed.is_complete and (text := write_out(sentence)) != sentence:
        parsed = parse_sentence(text)
    groups = _group_facts(parsed, len(text))
    cuts = [0]
    for (_, end, _), (start, _, _) in zip(groups, groups[1:], strict=False):
        link = _LINK.search(text, end, start)
        cuts += link.span() if link else (end, end)
    if text != sentence:
        cuts = [_original(position, sentence) for position in cuts]
    cuts.append(len(sentence))
    statements = []
    for start, end, (*_, facts) in zip(cuts[::2], cuts[1::2], groups, strict=True):
        words = sentence[start:end]
        statements.append((end - len(words.lstrip()), start + len(words.rstrip()), tuple(facts)))
    return statements


def _group_facts(parsed: ParsedSentence, length: int) -> list[tuple[int, int, list[Fact]]]:
    """Return the facts of the same words, and denials in a row, with the start and the end of their words."""
    groups: list[tuple[int, int, list[Fact]]] = []
    words = [[span for span in spans if span] for spans in parsed.spans] or [[(0, length)]] * len(parsed.facts)
    for fact, spans in zip(parsed.facts, words, strict=True):
        start, end = min(spans)[0], max(end for _, end in spans)
        if groups and (start < groups[-1][1] or not (fact.is_stated or groups[-1][2][-1].is_stated)):
            first, last, facts = groups[-1]
            groups[-1] = min(first, start), max(last, end), [*facts, fact]
        else:
            groups.append((start, end, [fact]))
    return groups or [(0, length, [])]


def _original(position: int, sentence: str) -> int:
    """Return the offset in a sentence of a position in the text that `write_out` makes of it."""
    shift = 0
    for match in ABBREVIATION.finditer(sentence):
        length = len(long_form(match))
        if position <= match.start() + shift:
            break
        if position < match.start() + shift + length:
            return match.end()
        shift += length - len(match[0])
    return position - shift
