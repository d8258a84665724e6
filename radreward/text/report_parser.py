"""From text to facts: a lexicon parser with scopes of negation, doubt, place, degree and change.

Exact on what the grammar writes. Of real reports it reads what it knows, and tells the sentences that it read wholly
from those that may say more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from radreward.text.facts import AnnotatedReport, Change, Fact, Polarity, Section, Sentence
from radreward.text.findings import AFTER, BEFORE, DEGREES, FINDINGS, PLACES
from radreward.text.normal_statements import denied_findings, says_nothing
from radreward.text.sentence_templates import ABSENT, CHANGED, CHANGED_DEVICE, DEVICE, PLAIN, UNCERTAIN

LONGEST = 20_000
"""Characters of a report that are read; a longer text is refused rather than half read."""
LONGEST_SENTENCE = 1_000
"""Characters of a sentence; what is longer has no full stops, and its scopes would be guesses."""


class Excerpt(Sentence):
    """A sentence that may say more than its facts: it stays where it is, and only words of a fact change in it."""

    __slots__ = ()

    @property
    def heads(self) -> bool:
        """Whether it is the heading of a section."""
        return self.text.endswith(":")

    @property
    def leans(self) -> bool:
        """Whether it speaks of the sentence before it."""
        return bool(_LEANING.match(self.text))


def ended(entry: Sentence) -> Sentence:
    """A sentence with a full stop, so that another can follow it.

    >>> ended(Sentence("No edema", ())).text
    'No edema.'
    """
    return entry if entry.text.endswith((".", "!", "?")) else entry._replace(text=entry.text + ".")


class Spans(NamedTuple):
    """Where in a sentence the words of one fact stand: start and end."""

    name: tuple[int, int]
    place: tuple[int, int] | None
    degree: tuple[int, int] | None

    def moved(self, by: int) -> Spans:
        """The same words in a text that begins so many characters earlier."""
        name = (self.name[0] + by, self.name[1] + by)
        return Spans(name, _moved(self.place, by), _moved(self.degree, by))


class Reading(NamedTuple):
    """What a sentence states."""

    facts: tuple[Fact, ...]
    spans: tuple[Spans, ...] = ()
    """One for each fact, unless the facts are denied without being named."""
    whole: bool = False
    """Whether it states nothing else."""


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


_NOUNS: dict[str, str] = _table(
    (form, key) for key, entry in FINDINGS.items() for noun in entry.nouns for form in _plurals(noun.removeprefix("*"))
)
_NOUNS |= {
    "pneumothoraces": "pneumothorax",
    "edema": "edema",
    "adenopathy": "adenopathy",
    "air space disease": "consolidation",
    "air space opacity": "opacity",
    "air space opacities": "opacity",
    "air space consolidation": "consolidation",
    "alveolar consolidation": "consolidation",
    "focal airspace disease": "consolidation",
}
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
PLACE_WORDS = (
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
_PLACE = _pattern(PLACE_WORDS)
_DEGREE = _pattern(_HOW_MUCH)
_CHANGE = _pattern(_CHANGES)
_DENIAL = _pattern(_NEGATIVE)
_DENIAL_AFTER = _pattern(_DENIED_AFTER)
_UNSURE = _pattern(_DOUBT)
_CLAUSE = re.compile(r"\s*[,;:]\s+|\s+(?:and|with|but|or|nor|which|although|however|associated)\s+|\.\s")
_STOP = re.compile(r"\b(?:but|however|although|with|there is|there are|which)\b|[;:]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_NOT_END = re.compile(r"(?:\b(?:dr|mr|ms|mrs|vs|approx|no)|\b\d+|^\d{1,2})\.$", re.IGNORECASE)
_WORD = re.compile(r"#|[^\W_]+|[^\w\s]|_")
_STOCK = frozenset(
    word
    for templates in (PLAIN, DEVICE, UNCERTAIN, ABSENT, *CHANGED.values(), *CHANGED_DEVICE.values())
    for template in templates
    for word in re.findall(r"[a-z]+", re.sub(r"\{\w\}", "", template.lower()))
) | {"an", "the", "was", "were", "focal", "area", "areas", "lungs", "specifically", "free", "without", ".", "#"}
_VERBS = frozenset({"is", "are", "seen", "identified", "noted", "appreciated", "visualized", "detected", "."})
_LISTED = frozenset({"no", "or", "nor", "definite", "focal", "evidence", "of", ",", "#"})
_LEANING = re.compile(r"(?:it|its|this|these|those|they|their|that|which|otherwise|however)\b", re.IGNORECASE)
_EARLIER = re.compile(r"\b(?:prior|previous|previously|interval|compared|since|before)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^\d{1,2}\s?\.\s")
_SECTIONS: dict[str, Section] = {
    **dict.fromkeys(("indication", "indications", "clinical indication", "history", "clinical history"), "indication"),
    **dict.fromkeys(("reason for exam", "reason for examination", "reason for study"), "indication"),
    **dict.fromkeys(("clinical information", "reason for this examination"), "indication"),
    **dict.fromkeys(("comparison", "comparisons", "technique", "exam", "examination", "procedure"), "comparison"),
    **dict.fromkeys(("recommendation", "recommendations", "notification", "addendum", "views"), "comparison"),
    **dict.fromkeys(("findings", "finding"), "findings"),
    **dict.fromkeys(("impression", "impressions", "conclusion", "conclusions", "opinion", "summary"), "impression"),
}
"""Headings, and what follows them; what is not read, such as the technique, goes with the comparison."""
_HEADING = re.compile(
    r"(?:^|(?<=[.!?:] )|(?<= )(?=[A-Z]))(" + "|".join(sorted(_SECTIONS, key=len, reverse=True)) + r")\s?:(?=\s|$)",
    re.IGNORECASE,
)


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
    """Sentences of a report and the facts that they state; no character is lost but white space made single.

    Headings are sentences of their own. What stands under indication, comparison or technique is not read.

    Raises:
        ValueError: If the text is longer than 20,000 characters.

    >>> annotate("Small left effusion, increased. No PTX.").facts[0]
    Fact(finding='effusion', polarity='present', location='left', severity='mild', change=None)
    """
    if len(text) > LONGEST:
        raise ValueError(f"Expected a report of at most {LONGEST} characters but got {len(text)}.")
    text = " ".join(text.split())
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)]
    sentences = _sentences(text[: ends[0]], "findings")
    for heading, end in zip(headings, ends[1:], strict=True):
        section = _SECTIONS[heading[1].lower()]
        sentences += [Excerpt(heading[0], (), section), *_sentences(text[heading.end() : end], section)]
    return AnnotatedReport(tuple(sentences))


def _sentences(text: str, section: Section) -> list[Sentence]:
    pieces = split_sentences(text)
    if section in ("indication", "comparison"):
        return [Excerpt(piece, (), section) for piece in pieces]
    readings = [read(piece) for piece in pieces]
    leaned_on = [_LEANING.match(piece) is not None for piece in [*pieces[1:], ""][: len(pieces)]]
    return [
        (Sentence if reading.whole and not leaned else Excerpt)(piece, reading.facts, section)
        for piece, reading, leaned in zip(pieces, readings, leaned_on, strict=True)
    ]


def wholly_read(report: AnnotatedReport) -> bool:
    """Whether the facts are all that findings and impression state."""
    body = [entry for entry in report.sentences if entry.section in ("findings", "impression")]
    return all(not isinstance(entry, Excerpt) or entry.heads for entry in body)


def compares(text: str) -> bool:
    """Whether a sentence speaks of a change or an earlier study.

    >>> compares("It is larger than on the prior film."), compares("It is large.")
    (True, False)
    """
    return bool(_CHANGE.search(text.lower()) or _EARLIER.search(text))


def sentence_facts(text: str) -> tuple[Fact, ...]:
    """The facts of one sentence."""
    return read(text).facts


@lru_cache(20_000)
def read(text: str) -> Reading:
    """The facts of one sentence, where their words stand, and whether that is all.

    >>> read("There is a small left pleural effusion.").whole, read("Small effusion around the drain.").whole
    (True, False)
    """
    if len(text) > LONGEST_SENTENCE:
        return Reading(())
    lower = " ".join("".join(char.lower() if len(char.lower()) == 1 else char for char in text).split())
    number = _NUMBER.match(lower)
    skipped = number.end() if number else 0
    lower = lower[skipped:]
    if denied := denied_findings(lower):
        return Reading(tuple(Fact(key, "absent") for key in denied), whole=True)
    mentions = [Mention(_NOUNS[match[0]], match.start(), match.end()) for match in _FINDING.finditer(lower)]
    if not mentions:
        return Reading((), whole=says_nothing(lower))
    # Names are blanked, so that "left atrial enlargement" gives no place and "massive" no mass.
    bare = list(lower)
    for mention in mentions:
        bare[mention.start : mention.end] = "#" * (mention.end - mention.start)
    rest = "".join(bare)
    found = [_fact(mention, index, mentions, rest) for index, mention in enumerate(mentions)]
    facts = tuple(fact for fact, _ in found)
    spans = tuple(entry.moved(skipped) for _, entry in found)
    return Reading(facts, spans, _is_whole(rest, mentions, facts))


def _fact(mention: Mention, index: int, mentions: list[Mention], rest: str) -> tuple[Fact, Spans]:
    begin, end = _span(index, mentions, rest)
    own = rest[begin:end]
    change = _change(own, rest, mention, mentions)
    polarity: Polarity = "present"
    if change == "resolved" or (change != "stable" and _denied(mention, rest)):
        polarity = "absent"
    elif _UNSURE.search(rest if len(mentions) == 1 else own) or _led(mention, rest):
        polarity = "uncertain"
    place = _PLACE.search(own)
    location = PLACE_WORDS[place[0]] if place else None
    allowed = PLACES[FINDINGS[mention.key].places]
    if location not in allowed:
        location = _side(location, allowed)
    degree = _DEGREE.search(own) if FINDINGS[mention.key].graded else None
    spans = Spans(
        (mention.start, mention.end),
        _moved(place.span() if place else None, begin),
        _moved(degree.span() if degree else None, begin),
    )
    if polarity == "absent":
        return Fact(mention.key, "absent", None, None, change), spans
    return Fact(mention.key, polarity, location, _HOW_MUCH[degree[0]] if degree else None, change), spans


def _moved(span: tuple[int, int] | None, by: int) -> tuple[int, int] | None:
    return (span[0] + by, span[1] + by) if span else None


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


def _is_whole(rest: str, mentions: list[Mention], facts: tuple[Fact, ...]) -> bool:
    """Whether the facts are all that a sentence says, beyond reasonable doubt about the reach of its words.

    Every modifier must be the only one of its kind beside a name and have got into the fact, all other words must be
    those of the grammar's sentences, and several findings must all be plainly there, or all be denied in one list.
    """
    for index, fact in enumerate(facts):
        begin, end = _span(index, mentions, rest)
        own = rest[begin:end]
        stated = (
            ([PLACE_WORDS[match[0]] for match in _PLACE.finditer(own)], fact.location),
            ([_HOW_MUCH[match[0]] for match in _DEGREE.finditer(own)], fact.severity),
            ([_CHANGES[match[0]] for match in _CHANGE.finditer(own)], fact.change),
        )
        if any(said != ([value] if value else []) for said, value in stated):
            return False
    bare = re.sub("#+", "#", rest)
    for pattern in (_CHANGE, _PLACE, _DEGREE, _UNSURE, _DENIAL_AFTER):
        bare = pattern.sub(" ", bare)
    words = _WORD.findall(bare)
    if len(facts) == 1:
        return (_STOCK | {","}).issuperset(words)
    if all(fact == Fact(fact.finding, "absent") for fact in facts):
        first, last = words.index("#"), len(words) - words[::-1].index("#")
        parts = zip((words[:first], words[first:last], words[last:]), (_STOCK | {","}, _LISTED, _VERBS), strict=True)
        return all(allowed.issuperset(part) for part, allowed in parts)
    plain = all(fact.polarity == "present" and fact.change is None for fact in facts)
    return plain and (_STOCK | {",", "and", "with"}).issuperset(words)
