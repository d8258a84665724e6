"""Substitution of single words in partially parsed sentences."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.facts import AnnotatedReport, Fact, Sentence
from radreward.text.findings import GENERATED_FINDINGS, is_related
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES, LOCATION_WORDS, mirror_side
from radreward.text.report_parser import PartiallyParsedSentence
from radreward.text.sentence_parser import FactSpans, Span, parse_sentence
from radreward.text.severity import SEVERITY_LEVELS, SEVERITY_SCALES

_BOUNDARY = re.compile(r"\b(?:and|or|with|without|but|no|of|from|to|in|by)\b|[^\w\s-]", re.IGNORECASE)
_SIDE_COMPARISON = re.compile(r"\b(?:left|right)\s+(?:side\s+)?(?:greater|worse|more|larger|less|>)", re.IGNORECASE)
_PREDICATE = re.compile(r"\s*(?:(?:in|at|of|on|within|involving|the|is|are|appears|seen|noted|again|present)\s+)*")


def substitute_words(sentence: Sentence, facts: tuple[Fact, ...]) -> str | None:
    """Replace words of location or severity in a sentence, so that the sentence states other facts.

    Only words next to the name of their finding are replaced.

    Args:
        sentence: The sentence with its current facts.
        facts: The facts to state, one per current fact. A fact may differ from the current one only in location or
            severity.

    Returns:
        The new text, or None if the facts cannot be stated this way.

    >>> from radreward.text.report_parser import parse_report
    >>> sentence = parse_report("Small left pleural effusion obscures the left border.").sentences[0]
    >>> substitute_words(sentence, (sentence.facts[0]._replace(location="right"),))
    'Small right pleural effusion obscures the left border.'
    """
    text = sentence.text
    parsed = parse_sentence(text)
    if parsed.facts != sentence.facts or len(parsed.spans) != len(facts) or _SIDE_COMPARISON.search(text):
        return None
    substitutions: dict[Span, str] = {}
    for old, new, spans in zip(sentence.facts, facts, parsed.spans, strict=True):
        if new._replace(location=old.location, severity=old.severity) != old:
            return None
        details = ((spans.location, old.location, new.location), (spans.severity, old.severity, new.severity))
        for span, old_value, new_value in details:
            if old_value == new_value:
                continue
            if not span or not _is_adjacent(text, span, spans):
                return None
            word = _replacement_word(text, span, old_value, new_value)
            if not word:
                return None
            substitutions[span] = word
    for (start, end), word in sorted(substitutions.items(), reverse=True):
        text = _with_article(text[:start], word) + word + text[end:]
    return text if parse_sentence(text).facts == facts else None


def possibly_mentioned(report: AnnotatedReport) -> frozenset[str]:
    """Return findings that partially parsed sentences may mention: related to their facts, or with their words."""
    return _possibly_mentioned(
        tuple(sentence for sentence in report.sentences if isinstance(sentence, PartiallyParsedSentence))
    )


@lru_cache(1_000)
def _possibly_mentioned(sentences: tuple[PartiallyParsedSentence, ...]) -> frozenset[str]:
    parsed = {fact.finding for sentence in sentences for fact in sentence.facts}
    stems = frozenset().union(*(_stems(sentence.text) for sentence in sentences))
    return frozenset(
        key
        for key, finding in GENERATED_FINDINGS.items()
        if any(is_related(key, other) for other in parsed)
        or (stems and any(_stems(name) <= stems for name in finding.names))
    )


@lru_cache(20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()))


def _is_adjacent(text: str, span: Span, spans: FactSpans) -> bool:
    """Return True if a word precedes the name with at most three words between them, or is its predicate."""
    if span[0] > spans.name[1]:
        return bool(_PREDICATE.fullmatch(text[spans.name[1] : span[0]].lower()))
    between = text[span[1] : spans.name[0]]
    return len(between.split()) <= 3 and not _BOUNDARY.search(between)


def _replacement_word(text: str, span: Span, old: str | None, new: str | None) -> str | None:
    """Return the substitute for the word at a span in the same case, or None if there is none."""
    current = text[slice(*span)]
    is_severity = old in SEVERITY_LEVELS
    word = _severity_word(current.lower(), new) if is_severity else _location_word(current.lower(), old, new)
    if word is None:
        return None
    if word.startswith("bi") and re.search(r"\ban? (?:[\w-]+ )?$", text[: span[0]], re.IGNORECASE):
        return None  # "a bilateral effusion"
    if current.isupper() or (len(word) == 3 and word.endswith(("ll", "ul"))):
        return word.upper()
    return word[:1].upper() + word[1:] if current[0].isupper() else word


def _location_word(current: str, old: str | None, new: str | None) -> str | None:
    mirrored = mirror_side(current)
    if mirrored != current and LOCATION_WORDS.get(mirrored) == new:
        return mirrored
    for phrases in (LOCATION_PREFIXES, LOCATION_SUFFIXES):
        if current in (phrase.lower() for phrase in phrases.get(old or "", ())) and new in phrases:
            return phrases[new][0]
    return None


def _severity_word(current: str, new: str | None) -> str | None:
    scale = next((scale for scale in SEVERITY_SCALES if current in scale), None)
    return scale[SEVERITY_LEVELS[new]] if scale and new else None


def _with_article(before: str, word: str) -> str:
    """Return the text before a word with the article that fits: "an extensive", "a mild"."""
    ending = "n " if word[0].lower() in "aeiou" else " "
    return re.sub(r"(?<!\w)([aA])n? $", rf"\1{ending}", before)
