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
from radreward.text.findings import FINDINGS, LOCATION_PREFIXES, LOCATION_SUFFIXES, LOCATIONS, SEVERITY_WORDS
from radreward.text.normal_statements import is_uninformative, negated_findings
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    CHANGE_TEMPLATES,
    DEVICE_CHANGE_TEMPLATES,
    DEVICE_TEMPLATES,
    PRESENT_TEMPLATES,
    UNCERTAIN_TEMPLATES,
)

MAX_REPORT_CHARS = 20_000
"""Characters of a report that are read; a longer text is refused rather than half read."""
MAX_SENTENCE_CHARS = 1_000
"""Characters of a sentence; what is longer has no full stops, and its scopes would be guesses."""


class PartiallyParsedSentence(Sentence):
    """A sentence that may say more than its facts: it stays where it is, and only words of a fact change in it."""

    __slots__ = ()

    @property
    def is_heading(self) -> bool:
        """Whether it is the heading of a section."""
        return self.text.endswith(":")

    @property
    def refers_back(self) -> bool:
        """Whether it speaks of the sentence before it."""
        return bool(_ANAPHORA.match(self.text))


def with_full_stop(sentence: Sentence) -> Sentence:
    """A sentence with a full stop, so that another can follow it.

    >>> ended(Sentence("No edema", ())).text
    'No edema.'
    """
    return sentence if sentence.text.endswith((".", "!", "?")) else sentence._replace(text=sentence.text + ".")


class FactSpans(NamedTuple):
    """Where in a sentence the words of one fact stand: start and end."""

    name: tuple[int, int]
    location: tuple[int, int] | None
    severity: tuple[int, int] | None

    def shifted(self, offset: int) -> FactSpans:
        """The same words in a text that begins so many characters earlier."""
        name = (self.name[0] + offset, self.name[1] + offset)
        return FactSpans(name, _shift(self.location, offset), _shift(self.severity, offset))


class ParsedSentence(NamedTuple):
    """What a sentence states."""

    facts: tuple[Fact, ...]
    spans: tuple[FactSpans, ...] = ()
    """One for each fact, unless the facts are denied without being named."""
    is_complete: bool = False
    """Whether it states nothing else."""


class Mention(NamedTuple):
    """A finding named in a sentence."""

    finding: str
    start: int
    end: int


def _with_plurals(noun: str) -> Iterable[str]:
    yield noun
    if noun.endswith("y"):
        yield noun[:-1] + "ies"
    yield noun + ("es" if noun.endswith(("s", "x", "h")) else "s")


def _lowercase_keys(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {phrase.lower(): value for phrase, value in pairs}


_FINDING_OF_NAME: dict[str, str] = _lowercase_keys(
    (form, key)
    for key, entry in FINDINGS.items()
    for noun in entry.names
    for form in _with_plurals(noun.removeprefix("*"))
)
_FINDING_OF_NAME |= {
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
_EXTRA_LOCATIONS = {
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
LOCATION_WORDS = (
    _lowercase_keys(
        (phrase, place)
        for words in (LOCATION_PREFIXES, LOCATION_SUFFIXES)
        for place, phrases in words.items()
        for phrase in phrases
    )
    | _EXTRA_LOCATIONS
)
_SEVERITY_OF_PHRASE = _lowercase_keys(
    (phrase, degree) for degree, phrases in SEVERITY_WORDS.items() for phrase in phrases
) | {
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
_CHANGE_OF_PHRASE = {phrase: change for change, phrases in _CHANGE_WORDS.items() for phrase in phrases.split("; ")}
_NEGATION_WORDS = ("no evidence of", "no", "not", "without", "negative for", "free of", "absence of", "nor", "clear of")
_NEGATION_AFTER_WORDS = ("is not seen", "are not seen", "not identified", "is absent", "ruled out", "is excluded")
_UNCERTAINTY_CUES = (
    "possible", "possibly", "cannot be excluded", "cannot be entirely excluded", "difficult to exclude", "not excluded",
    "may represent", "may be", "questionable",
    "concerning for", "probable", "probably", "suspected", "suggests", "suggesting", "could reflect", "likely",
    "suspicious for", "cannot exclude", "may reflect", "could represent", "versus", "suggestive of", "worrisome for",
)  # fmt: skip


def _compile_words(phrases: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])")


_FINDING = _compile_words(_FINDING_OF_NAME)
_LOCATION = _compile_words(LOCATION_WORDS)
_SEVERITY = _compile_words(_SEVERITY_OF_PHRASE)
_CHANGE = _compile_words(_CHANGE_OF_PHRASE)
_NEGATION = _compile_words(_NEGATION_WORDS)
_NEGATION_AFTER = _compile_words(_NEGATION_AFTER_WORDS)
_UNCERTAINTY = _compile_words(_UNCERTAINTY_CUES)
_CLAUSE = re.compile(r"\s*[,;:]\s+|\s+(?:and|with|but|or|nor|which|although|however|associated)\s+|\.\s")
_SCOPE_STOP = re.compile(r"\b(?:but|however|although|with|there is|there are|which)\b|[;:]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_ABBREVIATION_END = re.compile(r"(?:\b(?:dr|mr|ms|mrs|vs|approx|no)|\b\d+|^\d{1,2})\.$", re.IGNORECASE)
_WORD = re.compile(r"#|[^\W_]+|[^\w\s]|_")
_TEMPLATE_WORDS = frozenset(
    word
    for templates in (
        PRESENT_TEMPLATES,
        DEVICE_TEMPLATES,
        UNCERTAIN_TEMPLATES,
        ABSENT_TEMPLATES,
        *CHANGE_TEMPLATES.values(),
        *DEVICE_CHANGE_TEMPLATES.values(),
    )
    for template in templates
    for word in re.findall(r"[a-z]+", re.sub(r"\{\w\}", "", template.lower()))
) | {"an", "the", "was", "were", "focal", "area", "areas", "lungs", "specifically", "free", "without", ".", "#"}
_VERBS = frozenset({"is", "are", "seen", "identified", "noted", "appreciated", "visualized", "detected", "."})
_LIST_WORDS = frozenset({"no", "or", "nor", "definite", "focal", "evidence", "of", ",", "#"})
_ANAPHORA = re.compile(r"(?:it|its|this|these|those|they|their|that|which|otherwise|however)\b", re.IGNORECASE)
_PRIOR_STUDY = re.compile(r"\b(?:prior|previous|previously|interval|compared|since|before)\b", re.IGNORECASE)
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


def split_simple_sentences(text: str) -> list[str]:
    """A report in sentences: at stops that end one, not after "Dr." or the number of a list.

    >>> split_sentences("1. No edema. 2. Seen by Dr. ___ today.")
    ['1. No edema.', '2. Seen by Dr. ___ today.']
    """
    sentences: list[str] = []
    for piece in _SENTENCE.split(text.strip()):
        if sentences and _ABBREVIATION_END.search(sentences[-1]):
            sentences[-1] += " " + piece
        else:
            sentences.append(piece)
    return [piece for piece in sentences if piece]


def parse_report(text: str) -> AnnotatedReport:
    """Sentences of a report and the facts that they state; no character is lost but white space made single.

    Headings are sentences of their own. What stands under indication, comparison or technique is not read.

    Raises:
        ValueError: If the text is longer than 20,000 characters.

    >>> annotate("Small left effusion, increased. No PTX.").facts[0]
    Fact(finding='effusion', polarity='present', location='left', severity='mild', change=None)
    """
    if len(text) > MAX_REPORT_CHARS:
        raise ValueError(f"Expected a report of at most {MAX_REPORT_CHARS} characters but got {len(text)}.")
    text = " ".join(text.split())
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)]
    sentences = _parse_section(text[: ends[0]], "findings")
    for heading, end in zip(headings, ends[1:], strict=True):
        section = _SECTIONS[heading[1].lower()]
        sentences += [
            PartiallyParsedSentence(heading[0], (), section),
            *_parse_section(text[heading.end() : end], section),
        ]
    return AnnotatedReport(tuple(sentences))


def _parse_section(text: str, section: Section) -> list[Sentence]:
    pieces = split_simple_sentences(text)
    if section in ("indication", "comparison"):
        return [PartiallyParsedSentence(piece, (), section) for piece in pieces]
    readings = [parse_sentence(piece) for piece in pieces]
    leaned_on = [_ANAPHORA.match(piece) is not None for piece in [*pieces[1:], ""][: len(pieces)]]
    return [
        (Sentence if reading.is_complete and not leaned else PartiallyParsedSentence)(piece, reading.facts, section)
        for piece, reading, leaned in zip(pieces, readings, leaned_on, strict=True)
    ]


def is_fully_parsed(report: AnnotatedReport) -> bool:
    """Whether the facts are all that findings and impression state."""
    body = [entry for entry in report.sentences if entry.section in ("findings", "impression")]
    return all(not isinstance(entry, PartiallyParsedSentence) or entry.is_heading for entry in body)


def mentions_change(text: str) -> bool:
    """Whether a sentence speaks of a change or an earlier study.

    >>> compares("It is larger than on the prior film."), compares("It is large.")
    (True, False)
    """
    return bool(_CHANGE.search(text.lower()) or _PRIOR_STUDY.search(text))


def sentence_facts(text: str) -> tuple[Fact, ...]:
    """The facts of one sentence."""
    return parse_sentence(text).facts


@lru_cache(20_000)
def parse_sentence(text: str) -> ParsedSentence:
    """The facts of one sentence, where their words stand, and whether that is all.

    >>> read("There is a small left pleural effusion.").whole, read("Small effusion around the drain.").whole
    (True, False)
    """
    if len(text) > MAX_SENTENCE_CHARS:
        return ParsedSentence(())
    lower = " ".join("".join(char.lower() if len(char.lower()) == 1 else char for char in text).split())
    number = _NUMBER.match(lower)
    skipped = number.end() if number else 0
    lower = lower[skipped:]
    if denied := negated_findings(lower):
        return ParsedSentence(tuple(Fact(key, "absent") for key in denied), is_complete=True)
    mentions = [Mention(_FINDING_OF_NAME[match[0]], match.start(), match.end()) for match in _FINDING.finditer(lower)]
    if not mentions:
        return ParsedSentence((), is_complete=is_uninformative(lower))
    # Names are blanked, so that "left atrial enlargement" gives no place and "massive" no mass.
    bare = list(lower)
    for mention in mentions:
        bare[mention.start : mention.end] = "#" * (mention.end - mention.start)
    rest = "".join(bare)
    found = [_parse_fact(mention, index, mentions, rest) for index, mention in enumerate(mentions)]
    facts = tuple(fact for fact, _ in found)
    spans = tuple(entry.shifted(skipped) for _, entry in found)
    return ParsedSentence(facts, spans, _is_complete(rest, mentions, facts))


def _parse_fact(mention: Mention, index: int, mentions: list[Mention], rest: str) -> tuple[Fact, FactSpans]:
    begin, end = _scope(index, mentions, rest)
    own = rest[begin:end]
    change = _find_change(own, rest, mention, mentions)
    polarity: Polarity = "present"
    if change == "resolved" or (change != "stable" and _is_negated(mention, rest)):
        polarity = "absent"
    elif _UNCERTAINTY.search(rest if len(mentions) == 1 else own) or _is_hedged_before(mention, rest):
        polarity = "uncertain"
    place = _LOCATION.search(own)
    location = LOCATION_WORDS[place[0]] if place else None
    allowed = LOCATIONS[FINDINGS[mention.finding].location_group]
    if location not in allowed:
        location = _laterality(location, allowed)
    degree = _SEVERITY.search(own) if FINDINGS[mention.finding].has_severity else None
    spans = FactSpans(
        (mention.start, mention.end),
        _shift(place.span() if place else None, begin),
        _shift(degree.span() if degree else None, begin),
    )
    if polarity == "absent":
        return Fact(mention.finding, "absent", None, None, change), spans
    return Fact(mention.finding, polarity, location, _SEVERITY_OF_PHRASE[degree[0]] if degree else None, change), spans


def _shift(span: tuple[int, int] | None, by: int) -> tuple[int, int] | None:
    return (span[0] + by, span[1] + by) if span else None


def _laterality(location: str | None, allowed: tuple[str, ...]) -> str | None:
    """What of a place a finding can have: an effusion "at the left base" is on the left."""
    side = (location or "").split(" ")[0]
    return side if side in allowed else None


def _scope(index: int, mentions: list[Mention], rest: str) -> tuple[int, int]:
    """The part of a sentence whose words belong to a mention: its clause, and clauses without a mention after it."""
    cuts = [match.end() for match in _CLAUSE.finditer(rest)]
    before, after = mentions[index].start, mentions[index].end
    floor = mentions[index - 1].end if index else 0
    ceiling = mentions[index + 1].start if index + 1 < len(mentions) else len(rest)
    begin = max([floor, *(cut for cut in cuts if floor <= cut <= before)]) if index else 0
    between = [cut for cut in cuts if after <= cut <= ceiling]
    end = between[-1] if between and index + 1 < len(mentions) else ceiling
    return begin, end


def _find_change(own: str, rest: str, mention: Mention, mentions: list[Mention]) -> Change | None:
    found = _CHANGE.search(own if len(mentions) > 1 else rest)
    if not found or not FINDINGS[mention.finding].can_change:
        return None
    return _CHANGE_OF_PHRASE[found[0]]


def _is_negated(mention: Mention, rest: str) -> bool:
    """A denial before the name with nothing between that ends its reach, or one after it."""
    before = rest[: mention.start]
    denials = [match for match in _NEGATION.finditer(before)]
    denials = [match for match in denials if not before[match.start() :].startswith(("not excluded", "no longer"))]
    if denials and not _SCOPE_STOP.search(before[denials[-1].end() :]):
        return True
    return bool(_NEGATION_AFTER.search(rest[mention.end :].split(",")[0]))


def _is_hedged_before(mention: Mention, rest: str) -> bool:
    """Whether words of doubt stand before the name in its sentence, as in "may represent edema or pneumonia"."""
    return any(
        not _SCOPE_STOP.search(rest[match.end() : mention.start])
        for match in _UNCERTAINTY.finditer(rest[: mention.start])
    )


def _is_complete(rest: str, mentions: list[Mention], facts: tuple[Fact, ...]) -> bool:
    """Whether the facts are all that a sentence says, beyond reasonable doubt about the reach of its words.

    Every modifier must be the only one of its kind beside a name and have got into the fact, all other words must be
    those of the grammar's sentences, and several findings must all be plainly there, or all be denied in one list.
    """
    for index, fact in enumerate(facts):
        begin, end = _scope(index, mentions, rest)
        own = rest[begin:end]
        stated = (
            ([LOCATION_WORDS[match[0]] for match in _LOCATION.finditer(own)], fact.location),
            ([_SEVERITY_OF_PHRASE[match[0]] for match in _SEVERITY.finditer(own)], fact.severity),
            ([_CHANGE_OF_PHRASE[match[0]] for match in _CHANGE.finditer(own)], fact.change),
        )
        if any(said != ([value] if value else []) for said, value in stated):
            return False
    bare = re.sub("#+", "#", rest)
    for pattern in (_CHANGE, _LOCATION, _SEVERITY, _UNCERTAINTY, _NEGATION_AFTER):
        bare = pattern.sub(" ", bare)
    words = _WORD.findall(bare)
    if len(facts) == 1:
        return (_TEMPLATE_WORDS | {","}).issuperset(words)
    if all(fact == Fact(fact.finding, "absent") for fact in facts):
        first, last = words.index("#"), len(words) - words[::-1].index("#")
        parts = zip(
            (words[:first], words[first:last], words[last:]),
            (_TEMPLATE_WORDS | {","}, _LIST_WORDS, _VERBS),
            strict=True,
        )
        return all(allowed.issuperset(part) for part, allowed in parts)
    plain = all(fact.polarity == "present" and fact.change is None for fact in facts)
    return plain and (_TEMPLATE_WORDS | {",", "and", "with"}).issuperset(words)
