"""Parser of sentences into facts, with scopes of negation, uncertainty, location, severity and change.

The parser is exact on sentences of the report grammar. In other sentences it recognizes known phrases only;
`ParsedSentence.is_complete` is False if a sentence may state more than its facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, compress, pairwise
from typing import NamedTuple

from radreward.text.abbreviations import write_out
from radreward.text.bone_levels import with_rib_level, without_list_of_levels
from radreward.text.changes import CHANGE, CHANGE_OF_PHRASE, change_of, without_comparisons
from radreward.text.composed_locations import with_zone, words_about
from radreward.text.facts import Fact, Polarity
from radreward.text.finding_locations import LOCATION, allowed_location, find_location
from radreward.text.finding_states import organ_state
from radreward.text.findings import FINDINGS, stated_finding
from radreward.text.lexicon import compile_phrases, lowercase_same_length
from radreward.text.locations import (
    PLACES_WITH_ZONE,
    canonical_location,
    side_readings,
    with_clear_sides,
)
from radreward.text.measurements import (
    MEASURED_FINDINGS,
    SIZE,
    parse_size,
    size_of_match,
    states_normal_ratio,
)
from radreward.text.mention_scopes import mention_scopes
from radreward.text.mentions import find_mentions
from radreward.text.negation import drop_negation_after, negated_names, reached_names
from radreward.text.normal_statements import denied_normality, is_uninformative, negated_findings
from radreward.text.read_names import Mention, fracture_of, narrower_finding
from radreward.text.removed_devices import with_removed_devices
from radreward.text.section_files import phrases_of, read_sections
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    CHANGE_TEMPLATES,
    DEVICE_CHANGE_TEMPLATES,
    DEVICE_TEMPLATES,
    PRESENT_TEMPLATES,
    UNCERTAIN_TEMPLATES,
)
from radreward.text.severity import NEAR_SEVERITY, SEVERITY_OF_PHRASE
from radreward.text.shared_details import place_readings, shared_details, with_inherited_location
from radreward.text.unstated import DENIED_DOUBT, alternatives, unstated_names

MAX_SENTENCE_CHARS = 1_000
"""Longer texts are not parsed: they are several sentences without full stops, and their scopes would be guesses."""
Span = tuple[int, int]


class FactSpans(NamedTuple):
    """Offsets of the words of one fact in its sentence."""

    name: Span
    location: Span | None
    severity: Span | None

    def shifted(self, offset: int) -> FactSpans:
        """Return the spans in a text that starts `offset` characters earlier."""
        start, end = self.name
        return FactSpans((start + offset, end + offset), _shift(self.location, offset), _shift(self.severity, offset))


class Scope(NamedTuple):
    """Lowercase words that may describe a finding."""

    words: str
    masked: str
    """The same words with the names of findings masked by #."""


class ParsedSentence(NamedTuple):
    """Facts of a sentence."""

    facts: tuple[Fact, ...]
    spans: tuple[FactSpans, ...] = ()
    """One per fact; empty if the sentence negates findings without their names."""
    is_complete: bool = False
    """True if the sentence states nothing but the facts."""
    scopes: tuple[Scope, ...] = ()
    """One per fact; empty if the sentence denies findings without their names."""


_SEVERITY = re.compile(
    compile_phrases(SEVERITY_OF_PHRASE.keys() - NEAR_SEVERITY).pattern
    + r"(?! (?:interval )?change\b| (?:than|better|bigger|larger|smaller|worse)\b)(?<!slightly(?! #))"
    + rf"|{compile_phrases(NEAR_SEVERITY).pattern}(?= (?:[a-z-]+ ){{0,2}}#)"
)
_DOUBT_PHRASES, _CHOICE_PHRASES, _INTERPRETATION_PHRASES = map(phrases_of, read_sections("doubt.txt").values())
_NOT_EXCLUDED = re.compile(
    r"\b(?:can ?not|can't|could not|not) (?:\w+ly )?(?:be )?(?:\w+ly )?(?:excluded|ruled out)\b"
    r"|\b(?:can ?not|can't) (?:\w+ly )?(?:exclude|rule out)\b|\bif any\b(?! (?:change|of|question)\b)"
)
"""Doubts that adverbs stand in: "cannot be entirely excluded", "small, if any"."""
_DOUBT = re.compile(f"{compile_phrases(_DOUBT_PHRASES).pattern}|{_NOT_EXCLUDED.pattern}")
_CHOICE, _INTERPRETATION = map(compile_phrases, (_CHOICE_PHRASES, _INTERPRETATION_PHRASES))
_UNCERTAINTY = re.compile(
    f"{compile_phrases((*_DOUBT_PHRASES, *_CHOICE_PHRASES, *_INTERPRETATION_PHRASES)).pattern}|{_NOT_EXCLUDED.pattern}"
)
_LINK_TO_NAME = re.compile(
    r"^(?: (?:caused by|due to|from|indicat\w+|owing to|reflect\w*|related to|represent\w*|secondary to))?"
    r"(?: (?:an?|the|some))? "
)
"""Between a doubt and the name that it is about."""
_QUESTION = re.compile(r"#\s?\?|\?\s?(?:\w+\s){0,3}#")
_OTHER_CLAUSE = re.compile(r"[,;]\s(?!.*\b(?:it|one|they|this)\b)")
_UNSEEN_TIP = re.compile(r"\b(?:tips?|ends?|side ?(?:hole|port)s?)\b[^.;]*\bnot\b|\bnot in the\b")
"""What is not seen is the tip of a device, not the device."""
_LABEL = re.compile(r"^(?:pleural )?#+:$")
"""The start of a sentence up to a colon, without a place or degree."""
_ANSWERED_YES = re.compile(r"\? yes\b|: yes\b")
"""An answer that states the finding before it, which is no question then."""
_HEALED = re.compile(r"\b(?:(?<!year )(?<!years )(?<!year-)old|healed|remote|chronic)\b")
_ITEM_NUMBER = re.compile(r"^\d{1,2}\s?\.\s")
_TOKEN = re.compile(r"#|[^\W_]+|[^\w\s]|_")
_TEMPLATES = (
    *PRESENT_TEMPLATES,
    *DEVICE_TEMPLATES,
    *UNCERTAIN_TEMPLATES,
    *ABSENT_TEMPLATES,
    *chain.from_iterable(CHANGE_TEMPLATES.values()),
    *chain.from_iterable(DEVICE_CHANGE_TEMPLATES.values()),
)
_TEMPLATE_TOKENS = frozenset(
    word for template in _TEMPLATES for word in re.findall(r"[a-z]+", re.sub(r"\{\w\}", "", template.lower()))
) | {"an", "the", "was", "were", "focal", "area", "areas", "lungs", "specifically", "free", "without", ".", "#"}
_LIST_TOKENS = frozenset({"no", "or", "nor", "definite", "focal", "evidence", "of", ",", "#"})
_PERCEPTION_TOKENS = frozenset(
    {"is", "are", "seen", "identified", "noted", "appreciated", "visualized", "detected", "."}
)


@lru_cache(CACHED_SENTENCES)
def sentence_facts(text: str) -> tuple[Fact, ...]:
    """Return the facts of one sentence; its abbreviations are written out if it may state more than the facts.

    >>> sentence_facts("Small PTX on the L.")[0][:4]
    ('pneumothorax', 'present', 'left', 'mild')
    """
    return parse_written_out(text).facts


def parse_written_out(text: str) -> ParsedSentence:
    """Return the facts of one sentence, with `ABBREVIATIONS` written out if it may state more than its facts."""
    parsed = parse_sentence(text)
    if parsed.is_complete:
        return parsed
    long = write_out(text)
    return parsed if long == text else parse_sentence(long)


@lru_cache(CACHED_SENTENCES)
def parse_sentence(text: str) -> ParsedSentence:
    """Return the facts of one sentence, and the offsets of their words.

    >>> parse_sentence("There is a small left pleural effusion.").is_complete
    True
    >>> parse_sentence("Small effusion around the drain.").is_complete
    False
    """
    if len(text) > MAX_SENTENCE_CHARS:
        return ParsedSentence(())
    lower = " ".join(lowercase_same_length(text).split())
    lower = _ANSWERED_YES.sub(", yes", lower)
    skipped = number.end() if (number := _ITEM_NUMBER.match(lower)) else 0
    lower = lower[skipped:]
    if negated := negated_findings(lower):
        return ParsedSentence(tuple(Fact(key, "absent") for key in negated), is_complete=True)
    if denied := denied_normality(lower):
        return ParsedSentence((Fact(denied),), is_complete=True, scopes=(Scope(lower, lower),))
    if state := organ_state(lower):
        words = FactSpans((0, len(lower.rstrip(" ."))), state.side_span, state.severity_span).shifted(skipped)
        return ParsedSentence(
            (Fact(state.finding, "present", state.side, state.severity),), (words,), True, (Scope(lower, lower),)
        )
    mentions = find_mentions(lower)
    if not mentions:
        return ParsedSentence((), is_complete=is_uninformative(lower))
    # Names are masked: "left atrial enlargement" states no location, and "massive" no mass.
    masked = lower
    for _, start, end in mentions:
        masked = masked[:start] + "#" * (end - start) + masked[end:]
    mentions, masked = _without_unstated(mentions, without_comparisons(with_clear_sides(masked)))
    if not mentions:
        return ParsedSentence((), is_complete=True)
    scopes = mention_scopes(mentions, masked)
    names = [(mention.start, mention.end) for mention in mentions]
    shared = shared_details(masked)
    are_negated = [
        is_negated or states_normal_ratio(lower[slice(*name)])
        for name, is_negated in zip(names, negated_names(masked, names), strict=True)
    ]
    # Uncertainty may reach several names, as in "may represent edema or pneumonia".
    are_hedged = reached_names(masked, [cue.end() for cue in _UNCERTAINTY.finditer(masked)], names)
    by_mention = [
        _parse_sides(mention, scope, masked, len(mentions), is_negated, is_hedged)
        for mention, scope, is_negated, is_hedged in zip(mentions, scopes, are_negated, are_hedged, strict=True)
    ]
    parsed = list(chain.from_iterable(by_mention))
    own = [Scope(lower[slice(*scope)], masked[slice(*scope)]) for scope in scopes]
    completed = with_removed_devices([shared.complete(fact) for fact, _ in parsed], masked, [s.name for _, s in parsed])
    of_facts = tuple(scope for scope, sides in zip(own, by_mention, strict=True) for _ in sides)
    facts = tuple(_with_inherited_locations(completed, parsed, of_facts, masked))
    spans = tuple(spans.shifted(skipped) for _, spans in parsed)
    return ParsedSentence(facts, spans, len(facts) == len(scopes) and _is_complete(masked, scopes, facts), of_facts)


def _with_inherited_locations(
    facts: list[Fact], parsed: list[tuple[Fact, FactSpans]], scopes: tuple[Scope, ...], masked: str
) -> Iterator[Fact]:
    """Yield the facts of a sentence; what a finding may be, or comes with, is at its place."""
    earlier, end = facts[0], 0
    for fact, (stated, spans), scope in zip(facts, parsed, scopes, strict=True):
        fact = with_inherited_location(fact, earlier, masked[end : spans.name[0]], scope.masked)
        if fact.location != stated.location and fact.location:
            zone = with_zone(fact.finding, fact.location.split(" ")[0], scope.masked)
            fact = fact._replace(location=zone if zone in PLACES_WITH_ZONE else fact.location)
        yield fact
        earlier, end = (fact if fact.location else earlier), spans.name[1]


def _without_unstated(mentions: list[Mention], masked: str) -> tuple[list[Mention], str]:
    """Return the mentions that state a finding, and the sentence without alternatives, which keeps its length."""
    names = [(mention.start, mention.end) for mention in mentions]
    if span := alternatives(masked, names, [mention.finding for mention in mentions]):
        start, end = span
        mentions = [mention for mention in mentions if not start <= mention.start < end]
        masked = masked[:start] + " " * (end - start) + masked[end:]
        names = [(mention.start, mention.end) for mention in mentions]
    # In "Effusion: no effusion", the first name states nothing.
    labels = [
        _LABEL.match(masked[: mention.end + 1]) is not None and mention.finding == following.finding
        for mention, following in pairwise(mentions)
    ] + [False]
    are_unstated = unstated_names(masked, names, [mention.finding for mention in mentions])
    masked = DENIED_DOUBT.sub(lambda match: "~" * len(match[0]), masked)
    stated = (not (label or unstated) for label, unstated in zip(labels, are_unstated, strict=True))
    return list(compress(mentions, stated)), masked


def _parse_sides(
    mention: Mention, scope: Span, masked: str, num_mentions: int, is_negated: bool, is_hedged: bool
) -> list[tuple[Fact, FactSpans]]:
    """Return the fact of a mention, or one fact per side or per place of a list.

    By default, the other sides have the severity of the first one.
    """
    own = masked[slice(*scope)]
    readings = side_readings(own)
    readings = place_readings(own) if len(readings) == 1 else readings
    if len(readings) == 1:
        return [_parse_mention(mention, scope, masked, num_mentions, is_negated, is_hedged)]
    first, *others = (
        _parse_mention(mention, (0, len(reading)), reading, num_mentions, is_negated, is_hedged)[0]
        for reading in readings
    )
    facts = dict.fromkeys((first, *(other._replace(severity=other.severity or first.severity) for other in others)))
    return [(fact, FactSpans((mention.start, mention.end), None, None)) for fact in facts]


def _parse_mention(
    mention: Mention, scope: Span, masked: str, num_mentions: int, is_negated: bool, is_hedged: bool
) -> tuple[Fact, FactSpans]:
    own = masked[slice(*scope)]
    context = own if num_mentions > 1 else masked
    is_old = mention.finding == "oldfx" or _HEALED.search(own) is not None
    is_fracture = mention.finding in ("fracture", "oldfx")
    named = fracture_of(own) if is_fracture else narrower_finding(mention.finding, own)
    location = find_location(named, own)
    where = without_list_of_levels(canonical_location(location[0]), own) if location else None
    where = with_zone(named, where, own)
    if "left rib1" in FINDINGS[named].locations:
        where = with_rib_level(where, own)
    key = stated_finding(named, where, is_old)
    finding = FINDINGS[key]
    change = change_of(context, finding.is_device)
    if change != "resolved" and not finding.can_change:
        change = None
    polarity: Polarity = "present"
    is_unseen = finding.is_device and _UNSEEN_TIP.search(own)
    if is_negated and (is_unseen or _NOT_EXCLUDED.search(words_about(own, _OTHER_CLAUSE))):
        is_negated, is_hedged = False, is_hedged or not finding.is_device
    # "No pneumothorax, unchanged cardiomegaly": a denial does not reach a finding that another clause calls unchanged.
    if change == "resolved" or (is_negated and (change != "stable" or _is_denied(own))):
        polarity = "absent"
    elif is_hedged or _is_doubted(context, scope[1] < len(masked)):
        polarity = "uncertain"
    severity = _SEVERITY.search(own) if finding.has_severity else None
    spans = FactSpans(
        (mention.start, mention.end),
        _shift(location.span() if location else None, scope[0]),
        _shift(severity.span() if severity else None, scope[0]),
    )
    if polarity == "absent":
        return Fact(key, "absent", None, None, change), spans
    level = SEVERITY_OF_PHRASE[severity[0]] if severity else None
    size = parse_size(own) if key in MEASURED_FINDINGS else None
    return Fact(key, polarity, allowed_location(where, finding.locations), level, change, size), spans


def _is_denied(clause: str) -> bool:
    """Return True if a clause denies its finding, whose name is masked by #."""
    name = re.search("#+", clause)
    return name is not None and negated_names(clause, [name.span()])[0]


def _is_doubted(context: str, precedes_name: bool) -> bool:
    """Return True if a text doubts its finding. Before the name of another finding, its last words are about that."""
    if not _UNCERTAINTY.search(context) and "?" not in context:
        return False
    words = _INTERPRETATION.sub(" ", context)
    doubts = list(_DOUBT.finditer(words))
    if precedes_name and doubts and not _LINK_TO_NAME.sub("", words[doubts[-1].end() :]).strip():
        doubts.pop()
    return bool(doubts or _CHOICE.search(context) or _QUESTION.search(context))


def _shift(span: Span | None, offset: int) -> Span | None:
    return (span[0] + offset, span[1] + offset) if span else None


def _is_complete(masked: str, scopes: list[Span], facts: tuple[Fact, ...]) -> bool:
    """Return True if a sentence states nothing but the facts.

    Each modifier must be the only one of its kind in its scope and part of the fact. All other words must be words of
    the grammar's templates. Several findings must all be present, or all be negated in one list.
    """
    for (start, end), fact in zip(scopes, facts, strict=True):
        own = masked[start:end]
        stated: tuple[tuple[list[object], object], ...] = (
            ([canonical_location(match[0]) for match in LOCATION.finditer(own)], fact.location),
            ([SEVERITY_OF_PHRASE[match[0]] for match in _SEVERITY.finditer(own)], fact.severity),
            ([CHANGE_OF_PHRASE[match[0]] for match in CHANGE.finditer(own)], fact.change),
            ([size_of_match(match) for match in SIZE.finditer(own)], fact.size),
        )
        if any(values != ([value] if value else []) for values, value in stated):
            return False
    rest = re.sub("#+", "#", masked)
    for pattern in (SIZE, CHANGE, LOCATION, _SEVERITY, _UNCERTAINTY):
        rest = pattern.sub(" ", rest)
    tokens = _TOKEN.findall(drop_negation_after(rest))
    if len(facts) == 1:
        return (_TEMPLATE_TOKENS | {","}).issuperset(tokens)
    if all(fact == Fact(fact.finding, "absent") for fact in facts):
        first, last = tokens.index("#"), len(tokens) - tokens[::-1].index("#")
        return (
            (_TEMPLATE_TOKENS | {","}).issuperset(tokens[:first])
            and _LIST_TOKENS.issuperset(tokens[first:last])
            and _PERCEPTION_TOKENS.issuperset(tokens[last:])
        )
    all_present = all(fact.polarity == "present" and fact.change is None for fact in facts)
    return all_present and (_TEMPLATE_TOKENS | {",", "and", "with"}).issuperset(tokens)
