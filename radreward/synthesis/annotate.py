"""From text to facts: a lexicon parser with scopes of negation, doubt, place, degree and change.

Exact on what the grammar writes; on real reports it reads what it knows and leaves the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from radreward.synthesis.facts import AnnotatedReport, Change, Fact, Polarity, Section, Sentence
from radreward.synthesis.grammar import NORMAL
from radreward.synthesis.vocabulary import AFTER, BEFORE, DEGREES, FINDINGS, PLACES

LONGEST = 20_000
"""Characters of a report that are read; a longer text is refused rather than half read."""


class Mention(NamedTuple):
    """A finding named in a sentence."""

    key: str
    start: int
    end: int


def _plurals(noun: str) -> Iterable[str]:
    yield noun
    if noun.endswith("y"):
        yield noun[:-1] + "ies"
    yield noun + ("es" if noun.endswith(("s", "x", "h")) else "s")


def _table(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {phrase.lower(): value for phrase, value in pairs}


_NOUNS = _table(
    (form, key) for key, entry in FINDINGS.items() for noun in entry.nouns for form in _plurals(noun.removeprefix("*"))
)
_EXTRA_PLACES = {
    "diffuse bilateral": "bilateral",
    "left mid": "left middle",
    "right mid": "right middle",
    "left upper": "left upper",
    "right upper": "right upper",
    "bilateral upper": "bilateral upper",
    "left lower": "left lower",
    "right lower": "right lower",
    "bilateral lower": "bilateral lower",
    "basilar": "bilateral lower",
    "left lung": "left",
    "right lung": "right",
    "left hemithorax": "left",
    "right hemithorax": "right",
    "both lungs": "bilateral",
    "lower lobes": "bilateral lower",
    "lung bases": "bilateral lower",
    "upper lobes": "bilateral upper",
    "lingula": "left middle",
    "left lung base": "left lower",
    "right lung base": "right lower",
    "left hilum": "left perihilar",
    "right hilum": "right perihilar",
    "apical": "bilateral upper",
    "both apices": "bilateral upper",
    "left apex": "left upper",
    "right apex": "right upper",
    "left upper lung zone": "left upper",
    "right upper lung zone": "right upper",
}
_WHERE = (
    _table((phrase, place) for words in (BEFORE, AFTER) for place, phrases in words.items() for phrase in phrases)
    | _EXTRA_PLACES
)
_HOW_MUCH = _table((phrase, degree) for degree, phrases in DEGREES.items() for phrase in phrases) | {
    "mildly": "mild",
    "mildly increased": "mild",
    "moderately": "moderate",
    "severely": "severe",
    "markedly": "severe",
    "minimally": "mild",
    "moderately large": "severe",
    "small to moderate": "moderate",
    "moderate to large": "severe",
    "moderate to severe": "severe",
    "sizable": "severe",
    "huge": "severe",
    "borderline": "mild",
}
_CHANGE_WORDS: dict[Change, str] = {
    "resolved": (
        "has resolved; have resolved; resolution of; no longer; has cleared; have cleared; been removed; resolved; "
        "removal of"
    ),
    "new": (
        "new; newly seen; development of; has developed; have developed; has appeared; have appeared; placement of; "
        "has been placed; have been placed; interval appearance of"
    ),
    "worse": (
        "worsening; worsened; worse; interval increase in; has increased; have increased; increasing; progressed; "
        "more prominent than; progression of; enlarging; larger than; "
        "is increased; are increased; increased from; increased in size; increased since"
    ),
    "better": (
        "improving; improved; improvement; interval decrease in; has decreased; have decreased; decreasing; decreased; "
        "less prominent than; clearing of; smaller than"
    ),
    "stable": (
        "unchanged; stable; persists; persist; persistent; no significant change in; similar to prior; no change in; "
        "without significant change; no interval change in; not significantly changed"
    ),
}
_CHANGES = {phrase: change for change, phrases in _CHANGE_WORDS.items() for phrase in phrases.split("; ")}
_NEGATIVE = ("no evidence of", "no", "not", "without", "negative for", "free of", "absence of", "nor", "clear of")
_DENIED_AFTER = ("is not seen", "are not seen", "not identified", "is absent", "ruled out", "is excluded")
_DOUBT = (
    "possible", "possibly", "cannot be excluded", "cannot be entirely excluded", "difficult to exclude", "not excluded",
    "may represent", "may be", "questionable",
    "concerning for", "probable", "probably", "suspected", "suggests", "suggesting", "could reflect", "likely",
    "suspicious for", "cannot exclude", "may reflect", "could represent", "versus", "suggestive of", "worrisome for",
)  # fmt: skip


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])")


_FINDING = _pattern(_NOUNS)
_PLACE = _pattern(_WHERE)
_DEGREE = _pattern(_HOW_MUCH)
_CHANGE = _pattern(_CHANGES)
_DENIAL = _pattern(_NEGATIVE)
_DENIAL_AFTER = _pattern(_DENIED_AFTER)
_UNSURE = _pattern(_DOUBT)
_NORMAL = {re.sub(r"\W+", " ", text.lower()).strip(): keys for keys, texts in NORMAL.items() for text in texts}
_CLAUSE = re.compile(r"\s*[,;:]\s+|\s+(?:and|with|but|or|nor|which|although|however|associated)\s+|\.\s")
_STOP = re.compile(r"\b(?:but|however|although|with|there is|there are|which)\b|[;:]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_NOT_END = re.compile(r"(?:\b(?:dr|mr|ms|mrs|vs|approx|no)|\b\d+|^\d{1,2})\.$", re.IGNORECASE)
_HEADING = re.compile(r"^\s*(indication|history|comparison|findings|impression)\s*:\s*", re.IGNORECASE)
_SECTIONS: dict[str, Section] = {
    "indication": "indication",
    "history": "indication",
    "comparison": "comparison",
    "findings": "findings",
    "impression": "impression",
}


def split_sentences(text: str) -> list[str]:
    """A report in sentences: at stops that end one, not after "Dr." or the number of a list.

    >>> split_sentences("1. No edema. 2. Seen by Dr. ___ today.")
    ['1. No edema.', '2. Seen by Dr. ___ today.']
    """
    sentences: list[str] = []
    for piece in _SENTENCE.split(text.strip()):
        if sentences and _NOT_END.search(sentences[-1]):
            sentences[-1] += " " + piece
        else:
            sentences.append(piece)
    return [piece for piece in sentences if piece]


def annotate(text: str) -> AnnotatedReport:
    """Sentences of a report and the facts that they state.

    Raises:
        ValueError: If the text is longer than 20,000 characters.

    >>> annotate("Small left effusion, increased. No PTX.").facts[0]
    Fact(finding='effusion', polarity='present', location='left', severity='mild', change=None)
    """
    if len(text) > LONGEST:
        raise ValueError(f"Expected a report of at most {LONGEST} characters but got {len(text)}.")
    section: Section = "findings"
    headed = False
    sentences = []
    for piece in split_sentences(text):
        if heading := _HEADING.match(piece):
            section, headed = _SECTIONS[heading[1].lower()], True
            piece = piece[heading.end() :]
            if not piece:
                continue
        facts = () if section in ("indication", "comparison") else sentence_facts(piece)
        sentences.append(Sentence(piece, facts, section))
    return AnnotatedReport(tuple(sentences), headed)


@lru_cache(20_000)
def sentence_facts(text: str) -> tuple[Fact, ...]:
    """The facts of one sentence."""
    lower = " ".join(text.lower().split())
    lower = re.sub(r"^\d{1,2}\s?\.\s", "", lower)
    normal = _NORMAL.get(re.sub(r"\W+", " ", lower).strip())
    if normal:
        return tuple(Fact(key, "absent") for key in normal)
    mentions = [Mention(_NOUNS[match[0]], match.start(), match.end()) for match in _FINDING.finditer(lower)]
    # Names are blanked, so that "left atrial enlargement" gives no place and "massive" no mass.
    bare = list(lower)
    for mention in mentions:
        bare[mention.start : mention.end] = "#" * (mention.end - mention.start)
    rest = "".join(bare)
    return tuple(_fact(mention, index, mentions, rest) for index, mention in enumerate(mentions))


def _fact(mention: Mention, index: int, mentions: list[Mention], rest: str) -> Fact:
    begin, end = _span(index, mentions, rest)
    own = rest[begin:end]
    change = _change(own, rest, mention, mentions)
    polarity: Polarity = "present"
    if change == "resolved" or (change != "stable" and _denied(mention, rest)):
        polarity = "absent"
    elif _UNSURE.search(rest if len(mentions) == 1 else own) or _led(mention, rest):
        polarity = "uncertain"
    place = _PLACE.search(own)
    location = _WHERE[place[0]] if place else None
    allowed = PLACES[FINDINGS[mention.key].places]
    if location not in allowed:
        location = _side(location, allowed)
    degree = _DEGREE.search(own) if FINDINGS[mention.key].graded else None
    if polarity == "absent":
        return Fact(mention.key, "absent", None, None, change)
    return Fact(mention.key, polarity, location, _HOW_MUCH[degree[0]] if degree else None, change)


def _side(location: str | None, allowed: tuple[str, ...]) -> str | None:
    """What of a place a finding can have: an effusion "at the left base" is on the left."""
    side = (location or "").split(" ")[0]
    return side if side in allowed else None


def _span(index: int, mentions: list[Mention], rest: str) -> tuple[int, int]:
    """The part of a sentence whose words belong to a mention: its clause, and clauses without a mention after it."""
    cuts = [match.end() for match in _CLAUSE.finditer(rest)]
    before, after = mentions[index].start, mentions[index].end
    floor = mentions[index - 1].end if index else 0
    ceiling = mentions[index + 1].start if index + 1 < len(mentions) else len(rest)
    begin = max([floor, *(cut for cut in cuts if floor <= cut <= before)]) if index else 0
    between = [cut for cut in cuts if after <= cut <= ceiling]
    end = between[-1] if between and index + 1 < len(mentions) else ceiling
    return begin, end


def _change(own: str, rest: str, mention: Mention, mentions: list[Mention]) -> Change | None:
    found = _CHANGE.search(own if len(mentions) > 1 else rest)
    if not found or not FINDINGS[mention.key].changes:
        return None
    return _CHANGES[found[0]]


def _denied(mention: Mention, rest: str) -> bool:
    """A denial before the name with nothing between that ends its reach, or one after it."""
    before = rest[: mention.start]
    denials = [match for match in _DENIAL.finditer(before)]
    denials = [match for match in denials if not before[match.start() :].startswith(("not excluded", "no longer"))]
    if denials and not _STOP.search(before[denials[-1].end() :]):
        return True
    return bool(_DENIAL_AFTER.search(rest[mention.end :].split(",")[0]))


def _led(mention: Mention, rest: str) -> bool:
    """Whether words of doubt stand before the name in its sentence, as in "may represent edema or pneumonia"."""
    return any(not _STOP.search(rest[match.end() : mention.start]) for match in _UNSURE.finditer(rest[: mention.start]))
