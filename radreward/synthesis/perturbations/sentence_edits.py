"""Edits of single sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import permutations
from random import Random

from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.text.facts import Fact, Sentence
from radreward.text.locations import mirror_side
from radreward.text.sentence_parser import sentence_facts
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS, SIZE_WORDS

_NUM_WORDINGS = 40
"""Number of wordings from which `closest_wording` chooses."""


def exchange_one_word(sentence: Sentence, facts: tuple[Fact, ...]) -> str | None:
    """Return a sentence with its sides mirrored or a word of severity exchanged, if it then states exactly the facts.

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
    """Return the one of 40 sentences of the grammar for a fact that is most similar to an existing sentence."""
    wordings = [fact_sentence(fact, rng) for _ in range(_NUM_WORDINGS)]
    return max(wordings, key=lambda wording: SequenceMatcher(None, wording.text, sentence.text, autojunk=False).ratio())
