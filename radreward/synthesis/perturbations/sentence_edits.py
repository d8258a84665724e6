"""Edits of single sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from itertools import permutations
from random import Random

from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.synthesis.perturbations.fact_edits import flip_polarity
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.locations import mirror_side
from radreward.text.negation import drop_leading_negation
from radreward.text.sentence_parser import ParsedSentence, parse_sentence, sentence_facts
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS, SIZE_WORDS

_NUM_WORDINGS = 40
"""Number of wordings from which `closest_wording` chooses."""


def exchange_one_word(sentence: Sentence, facts: tuple[Fact, ...]) -> str | None:
    """Return a sentence with its sides mirrored or one word of severity exchanged, if it then states just the facts.

    >>> effusion = Fact("effusion", location="left", severity="mild")
    >>> exchange_one_word(Sentence("Small left effusion.", (effusion,)), (effusion._replace(location="right"),))
    'Small right effusion.'
    """
    return next((new for new in _one_word_exchanges(sentence, facts) if set(sentence_facts(new)) == set(facts)), None)


def _one_word_exchanges(sentence: Sentence, facts: tuple[Fact, ...]) -> Iterator[str]:
    text, pairs = sentence.text, list(zip(sentence.facts, facts, strict=False))
    if any(old.location != new.location for old, new in pairs):
        yield mirror_side(text, lobes=False)
    if all(old.severity == new.severity for old, new in pairs):
        return
    for old, new in permutations(SEVERITY_WORDS, 2):
        for old_word, new_word in zip(SEVERITY_WORDS[old][:2], SEVERITY_WORDS[new][:2], strict=True):
            if old_word in text:
                yield re.sub(rf"\b{re.escape(old_word)}\b", new_word, text)


def change_severity_word(sentence: Sentence, severity: str, rng: Random) -> Sentence | None:
    """Return a sentence with another severity of its first fact, or None if no word states the severity."""
    fact = sentence.facts[0]
    if fact.severity is None:
        return None
    adverbs = SEVERITY_ADVERBS[fact.severity]
    words = sorted((*SEVERITY_WORDS[fact.severity], *adverbs), key=len, reverse=True)
    match = re.search(r"\b(?:" + "|".join(map(re.escape, words)) + r")\b", sentence.text, re.IGNORECASE)
    if match is None:
        return None
    word = match[0].lower()
    if word in adverbs:
        options = list(SEVERITY_ADVERBS[severity])
    else:
        adjectives = list(SEVERITY_WORDS[severity])
        options = [other for other in adjectives if (other in SIZE_WORDS) == (word in SIZE_WORDS)] or adjectives
    new = rng.choice(options)
    new = capitalize_first(new) if match[0][0].isupper() else new
    text = sentence.text[: match.start()] + new + sentence.text[match.end() :]
    return sentence._replace(text=text, facts=(fact._replace(severity=severity),))


def closest_wording(fact: Fact, sentence: Sentence, rng: Random) -> Sentence:
    """Return the sentence for a fact that is closest to an existing one, of 40 wordings of the grammar."""
    wordings = [fact_sentence(fact, rng) for _ in range(_NUM_WORDINGS)]
    return max(
        wordings,
        key=lambda wording: SequenceMatcher(None, wording.text, sentence.text, autojunk=False).ratio(),
    )


def negate_or_affirm(text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    """Return the opposite of a sentence: its findings absent if they are present, and the other way round.

    Args:
        text: The sentence.
        parsed: The parsed sentence.
        rng: Source of randomness for new wording.

    Returns:
        The opposite, or None if the sentence mixes both, states no finding, or more than its facts.

    >>> negate_or_affirm("No pneumothorax.", parse_sentence("No pneumothorax."), Random(0))
    'Pneumothorax.'
    """
    opposite = tuple(map(flip_polarity, parsed.facts))
    if len({fact.polarity for fact in opposite}) != 1:
        return None
    statement = drop_leading_negation(text)
    if statement is not None:
        facts = tuple(fact._replace(location=None, severity=None) for fact in parse_sentence(statement).facts)
        if facts == opposite:
            return statement
    if not parsed.is_complete:
        return None
    sentence = fact_sentence(opposite[0], rng) if len(opposite) == 1 else joint_sentence(opposite, rng)
    return sentence.text if parse_sentence(sentence.text).facts == opposite else None


def rename_finding(text: str, parsed: ParsedSentence, index: int, finding: str, rng: Random) -> str | None:
    """Return a sentence with the name of one fact exchanged for a name of a finding, the same or another.

    Args:
        text: The sentence.
        parsed: The parsed sentence.
        index: Index of the fact.
        finding: Key of the finding to name.
        rng: Source of randomness for the name.

    Returns:
        The new sentence, or None if no name fits.

    >>> text = "Small pneumothorax."
    >>> rename_finding(text, parse_sentence(text), 0, "pneumothorax", Random(0))
    'Small air in the pleural space.'
    """
    start, end = parsed.spans[index].name
    current, facts = text[start:end], list(parsed.facts)
    facts[index] = facts[index]._replace(finding=finding)
    before = text[:start].rstrip().lower()
    has_article = any(word in ("a", "an") for word in before.split()[-4:])
    names = [name.removeprefix("*") for name in FINDINGS[finding].names if name.startswith("*") != has_article]
    for name in rng.sample(names, k=len(names)):
        new = capitalize_first(name) if current[0].isupper() and start == 0 else name
        starts_alike = (new[:1].lower() in "aeiou") == (current[:1].lower() in "aeiou")
        if new.lower() == current.lower() or (not starts_alike and before.endswith((" a", " an"))):
            continue
        changed = text[:start] + new + text[end:]
        if parse_sentence(changed).facts == tuple(facts):
            return changed
    return None


def reword(
    text: str, facts: tuple[Fact, ...], rng: Random, write: Callable[[Random], Sentence], max_tries: int = 20
) -> str | None:
    """Return another sentence with the same facts, or None if none was written in `max_tries`.

    Args:
        text: The sentence.
        facts: Its facts.
        rng: Source of randomness.
        write: Writes a sentence for the facts.
        max_tries: Number of sentences to write.
    """
    for _ in range(max_tries):
        new = write(rng).text
        if new.lower().rstrip(".") != text.lower().rstrip(".") and parse_sentence(new).facts == facts:
            return new
    return None
