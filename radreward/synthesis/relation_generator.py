"""Sentences whose relations are known, because the facts that they state are: the same, partly, contrary, unrelated.

A quarter of the wordings, and one name of every finding that has many, is held out: sentences to test on are made of
these wordings, sentences to train on of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Literal, NamedTuple, TypeVar

from radreward.data.relation_io import RelatedSentences
from radreward.synthesis.fact_sampling import sample_fact, sample_keys
from radreward.synthesis.lexicon_statements import (
    ORGAN,
    STATED,
    denied_words,
    organ_sentence,
    sample_words,
    share_words,
    varied_words,
    words,
    words_phrase,
)
from radreward.synthesis.noun_phrases import Phrase, capital, fill, noun_phrase
from radreward.text.facts import Fact
from radreward.text.findings import DEGREES, FINDINGS, PLACES, ancestry, related
from radreward.text.report_parser import read
from radreward.text.sentence_templates import (
    ABSENT,
    ALL_CLEAR,
    CHANGED,
    CHANGED_DEVICE,
    DEVICE,
    FILLER,
    NORMAL,
    PLAIN,
    UNCERTAIN,
)

Part = Literal["train", "test"]
T = TypeVar("T")

JOINED = (
    "There is {}.",
    "{}.",
    "{} are seen.",
    "{} noted.",
    "Findings include {}.",
    "The film shows {}.",
    "{} are again noted.",
    "We see {}.",
)
"""Sentences of several findings."""
CLEAR = Fact("all clear", "absent")
"""What "no acute process" states; no finding of the vocabulary."""
SIZE = 8
"""Sentences of a record."""
KINDS = ("same", "partly", "contrary", "near", "other")
SHARES = (5, 6, 5, 3, 2)
HELD_NAME = 4
"""Place of the name that is held out, of findings that have more."""
_TRIES = 50


class Statement(NamedTuple):
    """A sentence and what it states."""

    text: str
    facts: tuple[Fact, ...]


def related_sentences(count: int, seed: int = 0, part: Part = "train") -> Iterator[RelatedSentences]:
    """Records of sentences, the first of which the others are made from, with the score of every pair that has one.

    Args:
        count: How many.
        seed: Decides everything.
        part: Sentences to train on, or to test on with wordings that no sentence to train on has.

    Raises:
        ValueError: If `count` is less than 1.

    >>> record = next(related_sentences(1, seed=3))
    >>> len(record.sentences), record.pairs[0][:2]
    (8, (0, 1))
    """
    if count < 1:
        raise ValueError(f"Expected `count` to be >= 1 but got {count}.")
    for number in range(count):
        rng = Random(f"relations:{part}:{seed}:{number}")
        made = _statements(rng, part)
        texts = tuple(_written(entry.text, rng) for entry in made)
        pairs = [
            (i, j, score)
            for j, other in enumerate(made)
            for i, one in enumerate(made[:j])
            if (score := relation(one.facts, other.facts)) is not None
        ]
        yield RelatedSentences(texts, tuple(sorted(pairs)))


def relation(ours: Sequence[Fact], theirs: Sequence[Fact]) -> float | None:
    """The score of two sentences by their facts; None where it is open.

    -1 where one denies what the other states. Otherwise 1 where each says what the other says; 0.5 where they speak of
    the same finding or of a kind of it, but place, degree, change, certainty, or another finding beside it differ; 0
    where they speak of nothing that is related.

    >>> effusion = Fact("effusion", location="left")
    >>> [relation([effusion], [Fact("effusion", *rest)]) for rest in (("present", "left"), (), ("absent",))]
    [1.0, 0.5, -1.0]
    """
    table = [[_of_facts(one, other) for other in theirs] for one in ours]
    found = {score for row in table for score in row}
    if -1.0 in found:
        return -1.0
    if found and all(1.0 in row for row in [*table, *zip(*table, strict=True)]):
        return 1.0
    if found & {0.5, 1.0}:
        return 0.5
    return None if None in found else 0.0


def _of_facts(one: Fact, other: Fact) -> float | None:
    if CLEAR in (one, other):
        return _of_clear(other if one == CLEAR else one) if one != other else 1.0
    if one.finding not in FINDINGS or other.finding not in FINDINGS:
        return _of_words(one, other)
    if not related(one.finding, other.finding):
        return 0.0
    if one.positive == other.positive:
        return 1.0 if one == other else 0.5
    denied, stated = sorted((one, other), key=lambda fact: fact.positive)
    # No opacity, no pneumonia; but an opacity may be none.
    return -1.0 if denied.finding in ancestry(stated.finding) else None


def _of_words(one: Fact, other: Fact) -> float | None:
    """What the vocabulary does not know is related to itself alone; names that share a word leave it open."""
    if one.finding == other.finding:
        if one.positive != other.positive:
            return -1.0
        return 1.0 if one == other else 0.5
    names = [FINDINGS[fact.finding].nouns if fact.finding in FINDINGS else (fact.finding,) for fact in (one, other)]
    return None if any(share_words(ours, theirs) for ours in names[0] for theirs in names[1]) else 0.0


def _of_clear(fact: Fact) -> float | None:
    """What is said of the whole chest, beside a finding."""
    if fact.finding not in FINDINGS:
        return 0.0 if fact.finding in FILLER else None
    if not fact.positive:
        return 0.5
    return -1.0 if FINDINGS[fact.finding].matters else None


def _statements(rng: Random, part: Part) -> list[Statement]:
    """A sentence, and others that say the same, something like it, the contrary and something else."""
    base = _said(_facts(rng), rng, part)
    made = [base]
    while len(made) < SIZE:
        kind = rng.choices(KINDS, SHARES)[0]
        facts = _varied(kind, base.facts, rng)
        statement = _said(facts, rng, part)
        if kind in ("near", "other") or statement.text.lower() not in {entry.text.lower() for entry in made}:
            made.append(statement)
    return made


def _facts(rng: Random) -> tuple[Fact, ...]:
    """What a sentence may state."""
    kind = rng.choices(("one", "several", "denied", "normal", "words", "clear", "filler"), (9, 4, 5, 4, 4, 1, 1))[0]
    if kind == "words":
        return (sample_words(rng),)
    if kind == "filler":
        return (Fact(rng.choice(FILLER)),)
    if kind == "clear":
        return (CLEAR,)
    if kind == "normal":
        return tuple(Fact(key, "absent") for key in rng.choice(tuple(NORMAL)))
    if kind == "one":
        return (sample_fact(sample_keys(rng, tuple(FINDINGS), 1)[0], rng),)
    keys = _unrelated(sample_keys(rng, tuple(FINDINGS), rng.choice((1, 2, 3) if kind == "denied" else (2, 2, 3))))
    if kind == "denied":
        return tuple(Fact(key, "absent") for key in keys if FINDINGS[key].region != "devices") or _facts(rng)
    return tuple(sample_fact(key, rng)._replace(polarity="present", change=None) for key in keys)


def _unrelated(keys: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for key in keys:
        if not any(related(key, other) for other in kept):
            kept.append(key)
    return kept


def _varied(kind: str, facts: tuple[Fact, ...], rng: Random) -> tuple[Fact, ...]:
    if kind == "same":
        return facts
    fact = rng.choice(facts)
    if kind in ("partly", "near") and fact.finding in _lexical():
        return (varied_words(fact, rng) if kind == "partly" else sample_words(rng),)
    if kind == "other" or (fact.finding not in FINDINGS and fact.finding not in _lexical()):
        return (_contrary(fact, rng) or _facts(rng)) if kind == "contrary" else _facts(rng)
    if kind == "near":
        keys = [key for key, entry in FINDINGS.items() if entry.region == FINDINGS[fact.finding].region]
        key = rng.choice(keys)
        return (Fact(key, "absent"),) if not fact.positive and fact.change is None else (sample_fact(key, rng),)
    if kind == "contrary":
        changed = _contrary(fact, rng) or ()
        rest = tuple(other for other in facts if other != fact and rng.random() < 0.5)
        same = changed and {other.positive for other in (*changed, *rest)} == {changed[0].positive}
        return (*changed, *rest) if same and _joins((*changed, *rest)) else changed
    return _partly(facts, fact, rng)


def _contrary(fact: Fact, rng: Random) -> tuple[Fact, ...] | None:
    """What denies a fact, or what a denial denies."""
    if fact == CLEAR:
        key = rng.choice([key for key, entry in FINDINGS.items() if entry.matters and entry.region != "devices"])
        return (sample_fact(key, rng),)
    if fact.finding in _lexical():
        return (denied_words(fact, rng),)
    if fact.finding not in FINDINGS:
        return None
    if fact.positive:
        fitting = [keys for keys in NORMAL if set(keys) & set(ancestry(fact.finding))]
        if fitting and rng.random() < 0.4:
            return tuple(Fact(key, "absent") for key in rng.choice(fitting))
        return (Fact(rng.choice(ancestry(fact.finding)), "absent"),)
    kinds = [key for key in FINDINGS if fact.finding in ancestry(key)]
    return (sample_fact(fact.finding if rng.random() < 0.6 else rng.choice(kinds), rng),)


def _partly(facts: tuple[Fact, ...], fact: Fact, rng: Random) -> tuple[Fact, ...]:
    """A sentence that shares a finding: with other details, with one finding more or fewer, or a kind of it."""
    if len(facts) > 1 and rng.random() < 0.5:
        return tuple(rng.sample(facts, k=rng.randint(1, len(facts) - 1)))
    kind = rng.random()
    if not fact.positive:
        if kind < 0.6 or fact.change:
            others = [Fact(key, "absent") for key in sample_keys(rng, tuple(FINDINGS), rng.choice((1, 1, 2)))]
            kept = _unrelated([fact.finding, *(o.finding for o in others if FINDINGS[o.finding].region != "devices")])
            return tuple(Fact(key, "absent") for key in kept)
        keys = [key for key in FINDINGS if related(key, fact.finding)]
        return (Fact(rng.choice(keys), "absent"),)
    if kind < 0.2:
        other = sample_fact(sample_keys(rng, tuple(FINDINGS), 1)[0], rng)._replace(polarity="present", change=None)
        plain = fact._replace(polarity="present", change=None)
        return (plain,) if related(other.finding, fact.finding) else (plain, other)
    if kind < 0.35:
        return (sample_fact(rng.choice([key for key in FINDINGS if related(key, fact.finding)]), rng),)
    return (_details(fact, rng),)


def _details(fact: Fact, rng: Random) -> Fact:
    """The finding with one detail changed, left out or added, or all of them drawn anew."""
    finding = FINDINGS[fact.finding]
    places = [place or None for place in PLACES[finding.places] if place != fact.location]
    choices = ["all"]
    choices += ["place"] * 3 if places else []
    choices += ["degree"] * 3 if finding.graded else []
    choices += ["sure"] if fact.polarity == "uncertain" else []
    choice = rng.choice(choices)
    if choice == "place":
        mirrored = " ".join({"left": "right", "right": "left"}.get(w, w) for w in (fact.location or "").split(" "))
        return fact._replace(location=mirrored if mirrored in places and rng.random() < 0.5 else rng.choice(places))
    if choice == "degree":
        return fact._replace(severity=rng.choice([degree for degree in (None, *DEGREES) if degree != fact.severity]))
    return fact._replace(polarity="present") if choice == "sure" else sample_fact(fact.finding, rng)


def _joins(facts: Sequence[Fact]) -> bool:
    """Whether one sentence can state them."""
    alike = len({fact.polarity for fact in facts}) == 1 and facts[0].polarity != "uncertain"
    return len(facts) == 1 or (alike and not any(fact.change for fact in facts))


def _said(facts: tuple[Fact, ...], rng: Random, part: Part) -> Statement:
    """A sentence that states the facts, in wordings of the part."""
    for _ in range(_TRIES):
        text = _text(facts, rng, part)
        # What cannot be read back might not mean what it should.
        if any(fact.finding not in FINDINGS for fact in facts) or set(read(text).facts) == set(facts):
            return Statement(text, facts)
    return _said(_facts(rng), rng, part)


def _text(facts: tuple[Fact, ...], rng: Random, part: Part) -> str:
    first = facts[0]
    keys = tuple(fact.finding for fact in facts)
    if first == CLEAR:
        return rng.choice(_wordings(ALL_CLEAR, part))
    if first.finding.startswith(ORGAN):
        return organ_sentence(first, rng.choice(_wordings(STATED, part)), rng)
    if first.finding in _lexical():
        template = rng.choice(_wordings(PLAIN if first.positive else ABSENT, part))
        return fill(template, words_phrase(first, rng))
    if first.finding not in FINDINGS:
        return first.finding
    denied = all(fact.polarity == "absent" and not fact.change for fact in facts)
    if denied and keys in NORMAL and (len(keys) > 1 or rng.random() < 0.5):
        return rng.choice(_wordings(NORMAL[keys], part))
    shuffled = rng.sample(facts, k=len(facts))
    if len(facts) == 1:
        return fill(rng.choice(_wordings(_tuple(first), part)), _phrase(first, rng, part))
    phrases = [_phrase(fact, rng, part) for fact in shuffled]
    if denied:
        return fill(rng.choice(_wordings(ABSENT, part)), Phrase(_listed([p.words for p in phrases], " or "), False))
    listed = _listed([phrase.full for phrase in phrases], rng.choice((" and ", " with ", " and ")))
    template = rng.choice(_wordings(JOINED, part))
    return template.format(capital(listed) if template.startswith("{") else listed)


def _tuple(fact: Fact) -> tuple[str, ...]:
    device = FINDINGS[fact.finding].region == "devices"
    if fact.change:
        return (CHANGED_DEVICE if device else CHANGED)[fact.change]
    if fact.polarity == "absent":
        return ABSENT
    return UNCERTAIN if fact.polarity == "uncertain" else DEVICE if device else PLAIN


@lru_cache(1)
def _lexical() -> frozenset[str]:
    """Names of facts about the words of the lexicon."""
    findings, organs = words()
    return frozenset((*findings, *(ORGAN + organ for organ in organs)))


def _listed(words: Sequence[str], last: str) -> str:
    return ", ".join(words[:-1]) + (last if len(words) > 1 else "") + words[-1]


def _wordings(options: tuple[T, ...], part: Part) -> tuple[T, ...]:
    """Those of the part: every fourth is for tests."""
    return options[2::4] if part == "test" else tuple(entry for at, entry in enumerate(options) if at % 4 != 2)


def _phrase(fact: Fact, rng: Random, part: Part) -> Phrase:
    """The finding by a name of the part; tests have all names, training not the one that is held out."""
    while True:
        phrase = noun_phrase(fact, rng)
        if part == "test" or not says_held_name(fact.finding, phrase.words):
            return phrase


def says_held_name(key: str, words: str) -> bool:
    """Whether words name a finding by the name that is held out.

    >>> says_held_name("opacity", "left parenchymal opacity"), says_held_name("opacity", "left hazy opacity")
    (True, False)
    """
    names = [name for name in _names(key) if name in words]
    return bool(names) and len(_names(key)) > HELD_NAME and max(names, key=len) == _names(key)[HELD_NAME]


@cache
def _names(key: str) -> tuple[str, ...]:
    return tuple(noun.removeprefix("*") for noun in FINDINGS[key].nouns)


def _written(text: str, rng: Random) -> str:
    """The sentence in one of the manners of writing."""
    manner = rng.random()
    if manner < 0.08:
        return text.lower()
    if manner < 0.11:
        return text.upper()
    if manner < 0.16:
        return f"{rng.randint(1, 9)}. {text}"
    return text.rstrip(".") if manner < 0.22 else text
