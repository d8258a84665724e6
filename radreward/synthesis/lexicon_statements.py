"""Statements about what the report grammar has no facts for: findings of the lexicon, and the state of organs.

Their facts have names that no finding of the vocabulary has: the words themselves.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from radreward.synthesis.noun_phrases import ADVERBS, Phrase, capital
from radreward.text.facts import Fact
from radreward.text.findings import AFTER, BEFORE, DEGREES
from radreward.text.lexicon import lexicon
from radreward.text.report_parser import read

NORMAL_STATES = ("normal", "unremarkable", "within normal limits", "intact")
STATED = (
    "The {organ} {verb} {state}.",
    "{Organ} {state}.",
    "{Organ} {verb} {state}.",
    "The {organ} {verb} noted to be {state}.",
    "The {organ} again {verb} {state}.",
    "The {organ} {verb} seen to be {state}.",
)
"""Sentences of the state of an organ."""
ORGAN = "organ: "
SIDES = ("left", "right", "bilateral")
_SMALL = frozenset(("a", "an", "and", "at", "in", "of", "on", "or", "the", "to", "with"))


@lru_cache(1)
def words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Findings and organs of the lexicon that the vocabulary does not know."""
    known = lexicon()
    findings = (*known["finding"], *known["disease"])
    return tuple(word for word in findings if not read(f"There is {word}.").facts), tuple(known["organ"])


def sample_words(rng: Random) -> Fact:
    """A statement about a finding of the lexicon, or about an organ."""
    findings, organs = words()
    if rng.random() < 0.35:
        return varied_words(Fact(ORGAN + rng.choice(organs)), rng)
    return varied_words(Fact(rng.choice(findings)), rng)


def varied_words(fact: Fact, rng: Random) -> Fact:
    """The same finding or organ, there or not, somewhere, to some degree."""
    denied = rng.random() < 0.4
    if fact.finding.startswith(ORGAN):
        state = rng.choice(lexicon()["abnormal"])
        return Fact(fact.finding, "absent") if denied else Fact(fact.finding, "present", None, state)
    place = rng.choice(SIDES) if rng.random() < 0.5 else None
    degree = rng.choice(tuple(DEGREES)) if rng.random() < 0.4 else None
    return Fact(fact.finding, "absent") if denied else Fact(fact.finding, "present", place, degree)


def denied_words(fact: Fact, rng: Random) -> Fact:
    """The contrary."""
    while fact.positive == (other := varied_words(fact, rng)).positive:
        pass
    return other


def share_words(one: str, other: str) -> bool:
    """Whether two names have a word in common, so that they might be related."""
    return bool((_words(one) & _words(other)) - _SMALL)


def _words(name: str) -> set[str]:
    return {word.removesuffix("s") for word in name.removeprefix(ORGAN).lower().replace("-", " ").split()}


def organ_sentence(fact: Fact, template: str, rng: Random) -> str:
    """A sentence of `STATED` for the state of an organ."""
    organ = fact.finding.removeprefix(ORGAN)
    state = rng.choice(NORMAL_STATES) if fact.severity is None else fact.severity
    verb = "are" if organ.endswith("s") and not organ.endswith(("us", "is", "ss", "ax")) else "is"
    return template.format(organ=organ, Organ=capital(organ), verb=verb, state=state)


def words_phrase(fact: Fact, rng: Random) -> Phrase:
    """The name of a finding of the lexicon, with words for degree and place."""
    name = fact.finding
    degree = rng.choice(DEGREES[fact.severity][:4]) if fact.severity else ""
    place = fact.location or ""
    before = rng.random() < 0.5
    said = [degree, rng.choice(BEFORE[place]) if place and before else "", name]
    after = f" {rng.choice(AFTER[place])}" if place and not before else ""
    plural = name.endswith("s") or name in ADVERBS
    return Phrase(" ".join(filter(None, said)) + after, article=not plural and rng.random() < 0.5)
