"""Parser of reports: sections, sentences, and the facts of each sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from radreward.text.facts import AnnotatedReport, Section, Sentence
from radreward.text.later_changes import later_change, with_later_change
from radreward.text.normalization import MAX_REPORT_CHARS, join_lines
from radreward.text.sentence_parser import parse_sentence, sentence_facts
from radreward.text.sentence_splitter import split_at_stops

BODY_SECTIONS: tuple[Section, ...] = ("findings", "impression")
"""Sections whose facts are parsed."""

_ANAPHORA = re.compile(r"(?:it|its|this|these|those|they|their|that|which|otherwise|however)\b", re.IGNORECASE)
_ITEM = re.compile(r"[-*\u2022]\s")
_BACK_REFERENCE = re.compile(r"(?:this|these)\b", re.IGNORECASE)
_TITLES: dict[Section, str] = {
    "indication": (
        "indication; indications; clinical indication; history; clinical history; clinical information; "
        "reason for exam; reason for examination; reason for study; reason for this examination"
    ),
    "comparison": (
        "comparison; comparisons; technique; exam; examination; procedure; recommendation; recommendations; "
        "notification; addendum; views"
    ),
    "findings": "findings; finding",
    "impression": "impression; impressions; conclusion; conclusions; opinion; summary",
}
"""Titles of each section. Sections that are not parsed, such as the technique, count as comparison."""
_TITLES_AFTER_FINDINGS = frozenset(("recommendation", "recommendations", "notification", "addendum"))
_MAX_TITLE_WORDS = 8
_DATE_AT_END = re.compile(r"\b(?:\d{1,2}/)?\d{1,2}/\d{2,4}\.\s+(?=[A-Z])|\b\d{4}\.\s+(?=[A-Z])")
"""A date that ends a sentence, which is otherwise taken for a number of a list."""
_SECTION_OF_TITLE = {title: section for section, titles in _TITLES.items() for title in titles.split("; ")}
_HEADING = re.compile(
    rf"(?:^|(?<=[.!?:] )|(?<=\s)(?=[A-Z]))({'|'.join(sorted(_SECTION_OF_TITLE, key=len, reverse=True))})\s?:(?=\s|$)",
    re.IGNORECASE,
)


class PartiallyParsedSentence(Sentence):
    """A sentence that may state more than its facts. Perturbations do not move it and substitute single words only."""

    __slots__ = ()


def is_heading(sentence: Sentence) -> bool:
    """Return True for the heading of a section."""
    return isinstance(sentence, PartiallyParsedSentence) and sentence.text.endswith(":")


def refers_back(sentence: Sentence) -> bool:
    """Return True for a partially parsed sentence that refers to the one before it."""
    return isinstance(sentence, PartiallyParsedSentence) and _continues(sentence.text)


def _continues(text: str) -> bool:
    """Return True if a sentence is about the one before it, as "It is small." or "Unchanged."."""
    return bool(_ANAPHORA.match(text)) or later_change(text.lower()) is not None


def parse_report(text: str) -> AnnotatedReport:
    r"""Return the sentences of a report with their facts; white space becomes single spaces, see `join_lines`.

    Headings are separate sentences. Indication, comparison and technique are split into sentences, but not parsed. If
    there is no heading for findings, and no more than a short title before the headings, only the first sentence or
    paragraph of the last of these sections belongs to it, and the others are findings. If an impression follows, this
    holds for comparison and technique only.

    Raises:
        ValueError: If the text is longer than 20,000 characters.

    >>> parse_report("Small left effusion, worse. No PTX.").facts[0][:5]
    ('effusion', 'present', 'left', 'mild', 'worse')
    >>> [fact.finding for fact in parse_report("HISTORY: Pneumonia\n\nLeft effusion\n- edema").facts]
    ['effusion', 'edema']
    >>> [fact.finding for fact in parse_report("Chest X-ray. Comparison: none. Left effusion.").facts]
    ['effusion']
    >>> read = parse_report("HISTORY: COPD. Edema. COMPARISON: None. Left effusion. IMPRESSION: Effusion.")
    >>> [(sentence.section, fact.finding) for sentence in read.sentences for fact in sentence.facts]
    [('findings', 'effusion'), ('impression', 'effusion')]
    """
    if len(text) > MAX_REPORT_CHARS:
        raise ValueError(f"Expected a report of at most {MAX_REPORT_CHARS} characters but got {len(text)}.")
    text = join_lines(text)
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)]
    sentences = _parse_section(text[: ends[0]], "findings")
    sections = [_SECTION_OF_TITLE[heading[1].lower()] for heading in headings]
    is_title = all(map(_is_title, sentences))
    last = _last_before_findings([heading[1].lower() for heading in headings], sections) if is_title else None
    for number, (heading, section) in enumerate(zip(headings, sections, strict=True)):
        sentences.append(PartiallyParsedSentence(heading[0], (), section))
        sentences += _parse_section(text[heading.end() : ends[number + 1]], section, number != last)
    return AnnotatedReport(tuple(sentences))


def _is_title(sentence: Sentence) -> bool:
    """Return True for a short text without facts, such as "Chest X-ray, two views."."""
    return (
        isinstance(sentence, PartiallyParsedSentence)
        and not sentence.facts
        and len(sentence.text.split()) <= _MAX_TITLE_WORDS
    )


def _last_before_findings(titles: Sequence[str], sections: Sequence[Section]) -> int | None:
    """Return the number of the section after whose first part the findings stand, or None if they have a heading.

    It is the last one of indication, comparison and technique. Before an impression, it is no indication.
    """
    if "findings" in sections:
        return None
    has_impression = "impression" in sections
    end = sections.index("impression") if has_impression else len(sections)
    numbers = [number for number in range(end) if titles[number] not in _TITLES_AFTER_FINDINGS]
    return numbers[-1] if numbers and not (has_impression and sections[numbers[-1]] == "indication") else None


def _parse_section(text: str, section: Section, is_whole: bool = True) -> list[Sentence]:
    """Return the sentences of a section. If not the whole text belongs to it, findings follow its first part."""
    if section not in BODY_SECTIONS:
        own, rest = (text, "") if is_whole else _first_part(text)
        unread: list[Sentence] = [PartiallyParsedSentence(sentence, (), section) for sentence in split_at_stops(own)]
        return unread + _parse_section(rest, "findings")
    texts = split_at_stops(text)
    sentences: list[Sentence] = []
    for sentence, following in zip(texts, [*texts[1:], ""], strict=False):
        parsed = parse_sentence(sentence)
        is_self_contained = parsed.is_complete and not _continues(following)
        kind = Sentence if is_self_contained else PartiallyParsedSentence
        sentences.append(kind(sentence, sentence_facts(sentence), section))
        if len(sentences) > 1 and _BACK_REFERENCE.match(sentence):
            sentences[-2:] = _with_shared_details(*sentences[-2:])
        if not sentences[-1].facts:
            sentences[:-1] = with_later_change(sentences[:-1], sentence.lower())
    return sentences


def _first_part(text: str) -> tuple[str, str]:
    r"""Return the first part of a section, and the rest: its first paragraph with the items of a list, or sentence.

    >>> _first_part("cough\n\n- fever\n\nLungs are clear."), _first_part("Cough. Lungs are clear.")
    (('cough\n\n- fever', 'Lungs are clear.'), ('Cough.', 'Lungs are clear.'))
    """
    first, *paragraphs = text.strip().split("\n\n")
    others = list(dropwhile(_ITEM.match, paragraphs))
    if others:
        items = paragraphs[: len(paragraphs) - len(others)]
        return "\n\n".join((first, *items)), "\n\n".join(others)
    sentence, *rest = split_at_stops(first) or [""]
    if date := _DATE_AT_END.search(sentence):
        sentence, rest = sentence[: date.end()].rstrip(), [sentence[date.end() :], *rest]
    return sentence, "\n\n".join((" ".join(rest), *paragraphs))


def _with_shared_details(first: Sentence, second: Sentence) -> tuple[Sentence, Sentence]:
    """Return both sentences with one fact in place of two facts about one finding, whose details do not contradict.

    "A nodule is seen. This nodule measures 8 mm." states one finding.
    """
    for fact in first.facts:
        for other in second.facts:
            details = zip(fact[2:], other[2:], strict=True)
            if fact[:2] == other[:2] and fact.positive and all(None in pair or len({*pair}) == 1 for pair in details):
                merged = fact.completed_by(other)
                first = first._replace(facts=tuple(merged if entry == fact else entry for entry in first.facts))
                second = second._replace(facts=tuple(merged if entry == other else entry for entry in second.facts))
    return first, second


def is_fully_parsed(report: AnnotatedReport) -> bool:
    """Return True if findings and impression state nothing but the facts."""
    body = [sentence for sentence in report.sentences if sentence.section in BODY_SECTIONS]
    return all(not isinstance(sentence, PartiallyParsedSentence) or is_heading(sentence) for sentence in body)
