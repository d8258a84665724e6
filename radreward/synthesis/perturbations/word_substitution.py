"""Edits in sentences that may say more than was read: a word of a fact is exchanged, all else stays as it is."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.findings import FINDINGS, is_related
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES, LOCATION_WORDS
from radreward.text.report_parser import PartiallyParsedSentence
from radreward.text.sentence_parser import FactSpans, parse_sentence
from radreward.text.severity import SEVERITY_LEVELS

_OTHER_SIDE = {"left": "right", "right": "left", "lll": "rll", "rll": "lll", "lul": "rul", "rul": "lul"}
_SIDE_WORD = re.compile(r"\b(?:" + "|".join(_OTHER_SIDE) + r")\b")
_SEVERITY_SCALES = (
    ("mild", "moderate", "severe"),
    ("small", "moderate", "large"),
    ("tiny", "moderate-sized", "massive"),
    ("trace", "moderate", "large"),
    ("slight", "moderate", "marked"),
    ("subtle", "moderate", "extensive"),
    ("minor", "moderate", "substantial"),
    ("minimal", "moderate", "marked"),
    ("mildly", "moderately", "severely"),
    ("minimally", "moderately", "markedly"),
)
"""Words that differ in degree only, from mild to severe."""
_BOUNDARY = re.compile(r"\b(?:and|or|with|without|but|no|of|from|to|in|by)\b|[^\w\s-]", re.IGNORECASE)
_SIDE_COMPARISON = re.compile(r"\b(?:left|right)\s+(?:side\s+)?(?:greater|worse|more|larger|less|>)", re.IGNORECASE)
_PREDICATE = re.compile(r"\s*(?:(?:in|at|of|on|within|involving|the|is|are|appears|seen|noted|again|present)\s+)*")


def substitute_words(sentence: PartiallyParsedSentence, facts: tuple[Fact, ...]) -> str | None:
    """The sentence with words of place or degree exchanged so that it states the facts; None if that cannot be done.

    A word is exchanged only where it stands beside the name of the finding.

    >>> from radreward.text.report_parser import annotate
    >>> entry = annotate("Small left pleural effusion obscures the left border.").sentences[0]
    >>> exchanged(entry, (entry.facts[0]._replace(location="right"),))
    'Small right pleural effusion obscures the left border.'
    """
    reading = parse_sentence(sentence.text)
    if reading.facts != sentence.facts or len(reading.spans) != len(facts) or _SIDE_COMPARISON.search(sentence.text):
        return None
    edits: dict[tuple[int, int], str] = {}
    for before, after, spans in zip(sentence.facts, facts, reading.spans, strict=True):
        if after._replace(location=before.location, severity=before.severity) != before:
            return None
        for span, old, new in ((spans.location, *_places(before, after)), (spans.severity, *_degrees(before, after))):
            if old == new:
                continue
            word = (
                _replacement_word(sentence.text, span, old, new)
                if span and _is_adjacent(sentence.text, span, spans)
                else None
            )
            if not span or not word:
                return None
            edits[span] = word
    text = sentence.text
    for (start, end), word in sorted(edits.items(), reverse=True):
        text = _with_article(text[:start], word) + word + text[end:]
    return text if parse_sentence(text).facts == facts else None


def possibly_mentioned(report: AnnotatedReport) -> frozenset[str]:
    """Findings of which sentences that were not wholly read may speak: they deny them or hold their words."""
    return _possibly_mentioned(tuple(entry for entry in report.sentences if isinstance(entry, PartiallyParsedSentence)))


@lru_cache(1_000)
def _possibly_mentioned(excerpts: tuple[PartiallyParsedSentence, ...]) -> frozenset[str]:
    read_there = {fact.finding for entry in excerpts for fact in entry.facts}
    words = frozenset().union(*(_stems(entry.text) for entry in excerpts))
    return frozenset(
        key
        for key, finding in FINDINGS.items()
        if any(is_related(key, other) for other in read_there)
        or (words and any(_stems(noun) <= words for noun in finding.names))
    )


@lru_cache(20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()))


def _places(before: Fact, after: Fact) -> tuple[str | None, str | None]:
    return before.location, after.location


def _degrees(before: Fact, after: Fact) -> tuple[str | None, str | None]:
    return before.severity, after.severity


def _is_adjacent(text: str, span: tuple[int, int], spans: FactSpans) -> bool:
    """Whether a word stands before the name with up to three adjectives between, or after it as its predicate."""
    if span[0] > spans.name[1]:
        return bool(_PREDICATE.fullmatch(text[spans.name[1] : span[0]].lower()))
    between = text[span[1] : spans.name[0]]
    return len(between.split()) <= 3 and not _BOUNDARY.search(between)


def _replacement_word(text: str, span: tuple[int, int], old: str | None, new: str | None) -> str | None:
    """Another word for what stands there, in its case."""
    said = text[slice(*span)]
    found = _location_word(said.lower(), old, new) if old not in SEVERITY_LEVELS else _severity_word(said.lower(), new)
    if found is None:
        return None
    if found.startswith("bi") and re.search(r"\ban? (?:[\w-]+ )?$", text[: span[0]], re.IGNORECASE):
        return None  # "a bilateral effusion"
    if said.isupper() or (len(found) == 3 and found.endswith(("ll", "ul"))):
        return found.upper()
    return found[:1].upper() + found[1:] if said[0].isupper() else found


def _location_word(said: str, old: str | None, new: str | None) -> str | None:
    mirrored = _SIDE_WORD.sub(lambda match: _OTHER_SIDE[match[0]], said)
    if mirrored != said and LOCATION_WORDS.get(mirrored) == new:
        return mirrored
    for phrases in (LOCATION_PREFIXES, LOCATION_SUFFIXES):
        if said in (phrase.lower() for phrase in phrases.get(old or "", ())) and new in phrases:
            return phrases[new][0]
    return None


def _severity_word(said: str, new: str | None) -> str | None:
    scale = next((scale for scale in _SEVERITY_SCALES if said in scale), None)
    return scale[SEVERITY_LEVELS[new]] if scale and new else None


def _with_article(before: str, word: str) -> str:
    """What stands before a word, ending with the article that fits it: "an extensive", "a mild"."""
    end = "n " if word[0].lower() in "aeiou" else " "
    return re.sub(r"(?<!\w)([aA])n? $", rf"\1{end}", before)
