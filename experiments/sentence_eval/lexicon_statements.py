"""Statements about findings of the lexicon and states of organs, for which the vocabulary has no facts.

The finding of such a `Fact` is the phrase itself.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first
from radreward.text.facts import Fact
from radreward.text.lexicon import load_lexicon
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES
from radreward.text.sentence_parser import parse_sentence
from radreward.text.severity import SEVERITY_WORDS

NORMAL_STATES = ("normal", "unremarkable", "within normal limits", "intact")
ORGAN_TEMPLATES = (
    "The {organ} {verb} {state}.",
    "{Organ} {state}.",
    "{Organ} {verb} {state}.",
    "The {organ} {verb} noted to be {state}.",
    "The {organ} again {verb} {state}.",
    "The {organ} {verb} seen to be {state}.",
)
ORGAN_PREFIX = "organ: "
"""Start of the finding of a fact about an organ."""
LATERALITIES = ("left", "right", "bilateral")
_FUNCTION_WORDS = frozenset(("a", "an", "and", "at", "in", "of", "on", "or", "the", "to", "with"))


@lru_cache(1)
def lexicon_terms() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return findings and organs of the lexicon that are not in the vocabulary."""
    lexicon = load_lexicon()
    findings = (*lexicon["finding"], *lexicon["disease"])
    return tuple(name for name in findings if not parse_sentence(f"There is {name}.").facts), tuple(lexicon["organ"])


def sample_statement(rng: Random) -> Fact:
    """Return a statement about a finding of the lexicon, or about an organ."""
    findings, organs = lexicon_terms()
    if rng.random() < 0.35:
        return vary_statement(Fact(ORGAN_PREFIX + rng.choice(organs)), rng)
    return vary_statement(Fact(rng.choice(findings)), rng)


def vary_statement(fact: Fact, rng: Random) -> Fact:
    """Return the same finding or organ with sampled polarity, location and severity or state."""
    is_negated = rng.random() < 0.4
    location = severity = None
    if fact.finding.startswith(ORGAN_PREFIX):
        severity = rng.choice(load_lexicon()["abnormal"])
    else:
        location = rng.choice(LATERALITIES) if rng.random() < 0.5 else None
        severity = rng.choice(tuple(SEVERITY_WORDS)) if rng.random() < 0.4 else None
    return Fact(fact.finding, "absent") if is_negated else Fact(fact.finding, "present", location, severity)


def negate_statement(fact: Fact, rng: Random) -> Fact:
    """Return a statement of the opposite polarity."""
    while fact.positive == (opposite := vary_statement(fact, rng)).positive:
        pass
    return opposite


def have_common_word(first: str, second: str) -> bool:
    """Return True if two names share a word, so that they may be related."""
    return bool((_words(first) & _words(second)) - _FUNCTION_WORDS)


def _words(name: str) -> set[str]:
    return {word.removesuffix("s") for word in name.removeprefix(ORGAN_PREFIX).lower().replace("-", " ").split()}


def organ_sentence(fact: Fact, template: str, rng: Random) -> str:
    """Return a sentence of `ORGAN_TEMPLATES` for the state of an organ."""
    organ = fact.finding.removeprefix(ORGAN_PREFIX)
    state = rng.choice(NORMAL_STATES) if fact.severity is None else fact.severity
    verb = "are" if organ.endswith("s") and not organ.endswith(("us", "is", "ss", "ax")) else "is"
    return template.format(organ=organ, Organ=capitalize_first(organ), verb=verb, state=state)


def statement_phrase(fact: Fact, rng: Random) -> NounPhrase:
    """Return the name of a finding of the lexicon, with words for severity and location."""
    severity = rng.choice(SEVERITY_WORDS[fact.severity][:4]) if fact.severity else ""
    is_prefix = rng.random() < 0.5
    prefix = suffix = ""
    if fact.location:
        phrase = rng.choice((LOCATION_PREFIXES if is_prefix else LOCATION_SUFFIXES)[fact.location])
        prefix, suffix = (phrase, "") if is_prefix else ("", phrase)
    text = " ".join(filter(None, (severity, prefix, fact.finding, suffix)))
    return NounPhrase(text, takes_article=not fact.finding.endswith("s") and rng.random() < 0.5)
