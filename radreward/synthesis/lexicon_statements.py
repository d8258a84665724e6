"""Statements about what the report grammar has no facts for: findings of the lexicon, and the state of organs.

Their facts have names that no finding of the vocabulary has: the words themselves.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first
from radreward.text.facts import Fact
from radreward.text.lexicon import load_lexicon
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES
from radreward.text.sentence_parser import parse_sentence
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS

NORMAL_STATES = ("normal", "unremarkable", "within normal limits", "intact")
ORGAN_TEMPLATES = (
    "The {organ} {verb} {state}.",
    "{Organ} {state}.",
    "{Organ} {verb} {state}.",
    "The {organ} {verb} noted to be {state}.",
    "The {organ} again {verb} {state}.",
    "The {organ} {verb} seen to be {state}.",
)
"""Sentences of the state of an organ."""
ORGAN_PREFIX = "organ: "
LATERALITIES = ("left", "right", "bilateral")
_SMALL = frozenset(("a", "an", "and", "at", "in", "of", "on", "or", "the", "to", "with"))


@lru_cache(1)
def lexicon_terms() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Findings and organs of the lexicon that the vocabulary does not know."""
    known = load_lexicon()
    findings = (*known["finding"], *known["disease"])
    return tuple(word for word in findings if not parse_sentence(f"There is {word}.").facts), tuple(known["organ"])


def sample_statement(rng: Random) -> Fact:
    """A statement about a finding of the lexicon, or about an organ."""
    findings, organs = lexicon_terms()
    if rng.random() < 0.35:
        return vary_statement(Fact(ORGAN_PREFIX + rng.choice(organs)), rng)
    return vary_statement(Fact(rng.choice(findings)), rng)


def vary_statement(fact: Fact, rng: Random) -> Fact:
    """The same finding or organ, there or not, somewhere, to some degree."""
    denied = rng.random() < 0.4
    if fact.finding.startswith(ORGAN_PREFIX):
        state = rng.choice(load_lexicon()["abnormal"])
        return Fact(fact.finding, "absent") if denied else Fact(fact.finding, "present", None, state)
    place = rng.choice(LATERALITIES) if rng.random() < 0.5 else None
    degree = rng.choice(tuple(SEVERITY_WORDS)) if rng.random() < 0.4 else None
    return Fact(fact.finding, "absent") if denied else Fact(fact.finding, "present", place, degree)


def negate_statement(fact: Fact, rng: Random) -> Fact:
    """The contrary."""
    while fact.positive == (other := vary_statement(fact, rng)).positive:
        pass
    return other


def have_common_word(first: str, second: str) -> bool:
    """Whether two names have a word in common, so that they might be related."""
    return bool((_words(first) & _words(second)) - _SMALL)


def _words(name: str) -> set[str]:
    return {word.removesuffix("s") for word in name.removeprefix(ORGAN_PREFIX).lower().replace("-", " ").split()}


def organ_sentence(fact: Fact, template: str, rng: Random) -> str:
    """A sentence of `STATED` for the state of an organ."""
    organ = fact.finding.removeprefix(ORGAN_PREFIX)
    state = rng.choice(NORMAL_STATES) if fact.severity is None else fact.severity
    verb = "are" if organ.endswith("s") and not organ.endswith(("us", "is", "ss", "ax")) else "is"
    return template.format(organ=organ, Organ=capitalize_first(organ), verb=verb, state=state)


def statement_phrase(fact: Fact, rng: Random) -> NounPhrase:
    """The name of a finding of the lexicon, with words for degree and place."""
    name = fact.finding
    degree = rng.choice(SEVERITY_WORDS[fact.severity][:4]) if fact.severity else ""
    place = fact.location or ""
    before = rng.random() < 0.5
    said = [degree, rng.choice(LOCATION_PREFIXES[place]) if place and before else "", name]
    after = f" {rng.choice(LOCATION_SUFFIXES[place])}" if place and not before else ""
    plural = name.endswith("s") or name in SEVERITY_ADVERBS
    return NounPhrase(" ".join(filter(None, said)) + after, takes_article=not plural and rng.random() < 0.5)
