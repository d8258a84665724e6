"""Edits in sentences that may say more than was read: a word of a fact is exchanged, all else stays as it is."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.findings import AFTER, BEFORE, FINDINGS, LEVELS, related
from radreward.text.report_parser import PLACE_WORDS, Excerpt, Spans, read

_SWAPPED = {"left": "right", "right": "left", "lll": "rll", "rll": "lll", "lul": "rul", "rul": "lul"}
_SIDE_WORD = re.compile(r"\b(?:" + "|".join(_SWAPPED) + r")\b")
_SCALES = (
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
_JOINT = re.compile(r"\b(?:and|or|with|without|but|no|of|from|to|in|by)\b|[^\w\s-]", re.IGNORECASE)
_SIDES = re.compile(r"\b(?:left|right)\s+(?:side\s+)?(?:greater|worse|more|larger|less|>)", re.IGNORECASE)
_PREDICATE = re.compile(r"\s*(?:(?:in|at|of|on|within|involving|the|is|are|appears|seen|noted|again|present)\s+)*")


def exchanged(entry: Excerpt, facts: tuple[Fact, ...]) -> str | None:
    """The sentence with words of place or degree exchanged so that it states the facts; None if that cannot be done.

    A word is exchanged only where it stands beside the name of the finding.

    >>> from radreward.text.report_parser import annotate
    >>> entry = annotate("Small left pleural effusion obscures the left border.").sentences[0]
    >>> exchanged(entry, (entry.facts[0]._replace(location="right"),))
    'Small right pleural effusion obscures the left border.'
    """
    reading = read(entry.text)
    if reading.facts != entry.facts or len(reading.spans) != len(facts) or _SIDES.search(entry.text):
        return None
    edits: dict[tuple[int, int], str] = {}
    for before, after, spans in zip(entry.facts, facts, reading.spans, strict=True):
        if after._replace(location=before.location, severity=before.severity) != before:
            return None
        for span, old, new in ((spans.place, *_places(before, after)), (spans.degree, *_degrees(before, after))):
            if old == new:
                continue
            word = _word(entry.text, span, old, new) if span and _beside(entry.text, span, spans) else None
            if not span or not word:
                return None
            edits[span] = word
    text = entry.text
    for (start, end), word in sorted(edits.items(), reverse=True):
        text = _with_article(text[:start], word) + word + text[end:]
    return text if read(text).facts == facts else None


def hinted(report: AnnotatedReport) -> frozenset[str]:
    """Findings of which sentences that were not wholly read may speak: they deny them or hold their words."""
    return _hinted(tuple(entry for entry in report.sentences if isinstance(entry, Excerpt)))


@lru_cache(1_000)
def _hinted(excerpts: tuple[Excerpt, ...]) -> frozenset[str]:
    read_there = {fact.finding for entry in excerpts for fact in entry.facts}
    words = frozenset().union(*(_stems(entry.text) for entry in excerpts))
    return frozenset(
        key
        for key, finding in FINDINGS.items()
        if any(related(key, other) for other in read_there)
        or (words and any(_stems(noun) <= words for noun in finding.nouns))
    )


@lru_cache(20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()))


def _places(before: Fact, after: Fact) -> tuple[str | None, str | None]:
    return before.location, after.location


def _degrees(before: Fact, after: Fact) -> tuple[str | None, str | None]:
    return before.severity, after.severity


def _beside(text: str, span: tuple[int, int], spans: Spans) -> bool:
    """Whether a word stands before the name with up to three adjectives between, or after it as its predicate."""
    if span[0] > spans.name[1]:
        return bool(_PREDICATE.fullmatch(text[spans.name[1] : span[0]].lower()))
    between = text[span[1] : spans.name[0]]
    return len(between.split()) <= 3 and not _JOINT.search(between)


def _word(text: str, span: tuple[int, int], old: str | None, new: str | None) -> str | None:
    """Another word for what stands there, in its case."""
    said = text[slice(*span)]
    found = _place_word(said.lower(), old, new) if old not in LEVELS else _degree_word(said.lower(), new)
    if found is None:
        return None
    if found.startswith("bi") and re.search(r"\ban? (?:[\w-]+ )?$", text[: span[0]], re.IGNORECASE):
        return None  # "a bilateral effusion"
    if said.isupper() or (len(found) == 3 and found.endswith(("ll", "ul"))):
        return found.upper()
    return found[:1].upper() + found[1:] if said[0].isupper() else found


def _place_word(said: str, old: str | None, new: str | None) -> str | None:
    mirrored = _SIDE_WORD.sub(lambda match: _SWAPPED[match[0]], said)
    if mirrored != said and PLACE_WORDS.get(mirrored) == new:
        return mirrored
    for phrases in (BEFORE, AFTER):
        if said in (phrase.lower() for phrase in phrases.get(old or "", ())) and new in phrases:
            return phrases[new][0]
    return None


def _degree_word(said: str, new: str | None) -> str | None:
    scale = next((scale for scale in _SCALES if said in scale), None)
    return scale[LEVELS[new]] if scale and new else None


def _with_article(before: str, word: str) -> str:
    """What stands before a word, ending with the article that fits it: "an extensive", "a mild"."""
    end = "n " if word[0].lower() in "aeiou" else " "
    return re.sub(r"(?<!\w)([aA])n? $", rf"\1{end}", before)
