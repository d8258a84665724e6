"""Sentences whose relations are known, because the facts that they state are: the same, partly, contrary, unrelated.

A quarter of the wordings, and one name of every finding that has many, is held out: sentences to test on are made of
these wordings, sentences to train on of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Literal, NamedTuple, TypeVar

from radreward.data.relation_io import SentenceRelations
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.lexicon_statements import (
    ORGAN_PREFIX,
    ORGAN_TEMPLATES,
    have_common_word,
    lexicon_terms,
    negate_statement,
    organ_sentence,
    sample_statement,
    statement_phrase,
    vary_statement,
)
from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first, fill_template, noun_phrase
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, ancestors, is_related
from radreward.text.locations import LOCATIONS
from radreward.text.sentence_parser import parse_sentence
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    ALL_CLEAR_STATEMENTS,
    CHANGE_TEMPLATES,
    DEVICE_CHANGE_TEMPLATES,
    DEVICE_TEMPLATES,
    FILLER_SENTENCES,
    NORMAL_STATEMENTS,
    PRESENT_TEMPLATES,
    UNCERTAIN_TEMPLATES,
)
from radreward.text.severity import SEVERITY_WORDS

Split = Literal["train", "test"]
T = TypeVar("T")

JOINT_TEMPLATES = (
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
ALL_CLEAR_FACT = Fact("all clear", "absent")
"""What "no acute process" states; no finding of the vocabulary."""
SENTENCES_PER_RECORD = 8
"""Sentences of a record."""
KINDS = ("same", "partly", "contrary", "near", "other")
KIND_WEIGHTS = (5, 6, 5, 3, 2)
HELD_OUT_NAME = 4
"""Place of the name that is held out, of findings that have more."""
_MAX_TRIES = 50


class Statement(NamedTuple):
    """A sentence and what it states."""

    text: str
    facts: tuple[Fact, ...]


def generate_sentence_relations(count: int, seed: int = 0, split: Split = "train") -> Iterator[SentenceRelations]:
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
        rng = Random(f"relations:{split}:{seed}:{number}")
        made = _sample_statements(rng, split)
        texts = tuple(_vary_typography(entry.text, rng) for entry in made)
        pairs = [
            (i, j, score)
            for j, other in enumerate(made)
            for i, one in enumerate(made[:j])
            if (score := relation_score(one.facts, other.facts)) is not None
        ]
        yield SentenceRelations(texts, tuple(sorted(pairs)))


def relation_score(first: Sequence[Fact], second: Sequence[Fact]) -> float | None:
    """The score of two sentences by their facts; None where it is open.

    -1 where one denies what the other states. Otherwise 1 where each says what the other says; 0.5 where they speak of
    the same finding or of a kind of it, but place, degree, change, certainty, or another finding beside it differ; 0
    where they speak of nothing that is related.

    >>> effusion = Fact("effusion", location="left")
    >>> [relation([effusion], [Fact("effusion", *rest)]) for rest in (("present", "left"), (), ("absent",))]
    [1.0, 0.5, -1.0]
    """
    table = [[_score_facts(one, other) for other in second] for one in first]
    found = {score for row in table for score in row}
    if -1.0 in found:
        return -1.0
    if found and all(1.0 in row for row in [*table, *zip(*table, strict=True)]):
        return 1.0
    if found & {0.5, 1.0}:
        return 0.5
    return None if None in found else 0.0


def _score_facts(one: Fact, other: Fact) -> float | None:
    if ALL_CLEAR_FACT in (one, other):
        return _score_all_clear(other if one == ALL_CLEAR_FACT else one) if one != other else 1.0
    if one.finding not in FINDINGS or other.finding not in FINDINGS:
        return _score_lexicon_facts(one, other)
    if not is_related(one.finding, other.finding):
        return 0.0
    if one.positive == other.positive:
        return 1.0 if one == other else 0.5
    denied, stated = sorted((one, other), key=lambda fact: fact.positive)
    # No opacity, no pneumonia; but an opacity may be none.
    return -1.0 if denied.finding in ancestors(stated.finding) else None


def _score_lexicon_facts(one: Fact, other: Fact) -> float | None:
    """What the vocabulary does not know is related to itself alone; names that share a word leave it open."""
    if one.finding == other.finding:
        if one.positive != other.positive:
            return -1.0
        return 1.0 if one == other else 0.5
    names = [FINDINGS[fact.finding].names if fact.finding in FINDINGS else (fact.finding,) for fact in (one, other)]
    return None if any(have_common_word(ours, theirs) for ours in names[0] for theirs in names[1]) else 0.0


def _score_all_clear(fact: Fact) -> float | None:
    """What is said of the whole chest, beside a finding."""
    if fact.finding not in FINDINGS:
        return 0.0 if fact.finding in FILLER_SENTENCES else None
    if not fact.positive:
        return 0.5
    return -1.0 if FINDINGS[fact.finding].is_significant else None


def _sample_statements(rng: Random, split: Split) -> list[Statement]:
    """A sentence, and others that say the same, something like it, the contrary and something else."""
    base = _write_statement(_sample_facts(rng), rng, split)
    made = [base]
    while len(made) < SENTENCES_PER_RECORD:
        kind = rng.choices(KINDS, KIND_WEIGHTS)[0]
        facts = _vary_facts(kind, base.facts, rng)
        statement = _write_statement(facts, rng, split)
        if kind in ("near", "other") or statement.text.lower() not in {entry.text.lower() for entry in made}:
            made.append(statement)
    return made


def _sample_facts(rng: Random) -> tuple[Fact, ...]:
    """What a sentence may state."""
    kind = rng.choices(("one", "several", "denied", "normal", "words", "clear", "filler"), (9, 4, 5, 4, 4, 1, 1))[0]
    if kind == "words":
        return (sample_statement(rng),)
    if kind == "filler":
        return (Fact(rng.choice(FILLER_SENTENCES)),)
    if kind == "clear":
        return (ALL_CLEAR_FACT,)
    if kind == "normal":
        return tuple(Fact(key, "absent") for key in rng.choice(tuple(NORMAL_STATEMENTS)))
    if kind == "one":
        return (sample_fact(sample_findings(rng, tuple(FINDINGS), 1)[0], rng),)
    keys = _drop_related(
        sample_findings(rng, tuple(FINDINGS), rng.choice((1, 2, 3) if kind == "denied" else (2, 2, 3)))
    )
    if kind == "denied":
        return tuple(Fact(key, "absent") for key in keys if FINDINGS[key].region != "devices") or _sample_facts(rng)
    return tuple(sample_fact(key, rng)._replace(polarity="present", change=None) for key in keys)


def _drop_related(keys: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for key in keys:
        if not any(is_related(key, other) for other in kept):
            kept.append(key)
    return kept


def _vary_facts(kind: str, facts: tuple[Fact, ...], rng: Random) -> tuple[Fact, ...]:
    if kind == "same":
        return facts
    fact = rng.choice(facts)
    if kind in ("partly", "near") and fact.finding in _lexicon_names():
        return (vary_statement(fact, rng) if kind == "partly" else sample_statement(rng),)
    if kind == "other" or (fact.finding not in FINDINGS and fact.finding not in _lexicon_names()):
        return (_contradict_fact(fact, rng) or _sample_facts(rng)) if kind == "contrary" else _sample_facts(rng)
    if kind == "near":
        keys = [key for key, entry in FINDINGS.items() if entry.region == FINDINGS[fact.finding].region]
        key = rng.choice(keys)
        return (Fact(key, "absent"),) if not fact.positive and fact.change is None else (sample_fact(key, rng),)
    if kind == "contrary":
        changed = _contradict_fact(fact, rng) or ()
        rest = tuple(other for other in facts if other != fact and rng.random() < 0.5)
        same = changed and {other.positive for other in (*changed, *rest)} == {changed[0].positive}
        return (*changed, *rest) if same and _can_join((*changed, *rest)) else changed
    return _vary_partly(facts, fact, rng)


def _contradict_fact(fact: Fact, rng: Random) -> tuple[Fact, ...] | None:
    """What denies a fact, or what a denial denies."""
    if fact == ALL_CLEAR_FACT:
        key = rng.choice([key for key, entry in FINDINGS.items() if entry.is_significant and entry.region != "devices"])
        return (sample_fact(key, rng),)
    if fact.finding in _lexicon_names():
        return (negate_statement(fact, rng),)
    if fact.finding not in FINDINGS:
        return None
    if fact.positive:
        fitting = [keys for keys in NORMAL_STATEMENTS if set(keys) & set(ancestors(fact.finding))]
        if fitting and rng.random() < 0.4:
            return tuple(Fact(key, "absent") for key in rng.choice(fitting))
        return (Fact(rng.choice(ancestors(fact.finding)), "absent"),)
    kinds = [key for key in FINDINGS if fact.finding in ancestors(key)]
    return (sample_fact(fact.finding if rng.random() < 0.6 else rng.choice(kinds), rng),)


def _vary_partly(facts: tuple[Fact, ...], fact: Fact, rng: Random) -> tuple[Fact, ...]:
    """A sentence that shares a finding: with other details, with one finding more or fewer, or a kind of it."""
    if len(facts) > 1 and rng.random() < 0.5:
        return tuple(rng.sample(facts, k=rng.randint(1, len(facts) - 1)))
    kind = rng.random()
    if not fact.positive:
        if kind < 0.6 or fact.change:
            others = [Fact(key, "absent") for key in sample_findings(rng, tuple(FINDINGS), rng.choice((1, 1, 2)))]
            kept = _drop_related(
                [fact.finding, *(o.finding for o in others if FINDINGS[o.finding].region != "devices")]
            )
            return tuple(Fact(key, "absent") for key in kept)
        keys = [key for key in FINDINGS if is_related(key, fact.finding)]
        return (Fact(rng.choice(keys), "absent"),)
    if kind < 0.2:
        other = sample_fact(sample_findings(rng, tuple(FINDINGS), 1)[0], rng)._replace(polarity="present", change=None)
        plain = fact._replace(polarity="present", change=None)
        return (plain,) if is_related(other.finding, fact.finding) else (plain, other)
    if kind < 0.35:
        return (sample_fact(rng.choice([key for key in FINDINGS if is_related(key, fact.finding)]), rng),)
    return (_vary_details(fact, rng),)


def _vary_details(fact: Fact, rng: Random) -> Fact:
    """The finding with one detail changed, left out or added, or all of them drawn anew."""
    finding = FINDINGS[fact.finding]
    places = [place or None for place in LOCATIONS[finding.location_group] if place != fact.location]
    choices = ["all"]
    choices += ["place"] * 3 if places else []
    choices += ["degree"] * 3 if finding.has_severity else []
    choices += ["sure"] if fact.polarity == "uncertain" else []
    choice = rng.choice(choices)
    if choice == "place":
        mirrored = " ".join({"left": "right", "right": "left"}.get(w, w) for w in (fact.location or "").split(" "))
        return fact._replace(location=mirrored if mirrored in places and rng.random() < 0.5 else rng.choice(places))
    if choice == "degree":
        return fact._replace(
            severity=rng.choice([degree for degree in (None, *SEVERITY_WORDS) if degree != fact.severity])
        )
    return fact._replace(polarity="present") if choice == "sure" else sample_fact(fact.finding, rng)


def _can_join(facts: Sequence[Fact]) -> bool:
    """Whether one sentence can state them."""
    alike = len({fact.polarity for fact in facts}) == 1 and facts[0].polarity != "uncertain"
    return len(facts) == 1 or (alike and not any(fact.change for fact in facts))


def _write_statement(facts: tuple[Fact, ...], rng: Random, split: Split) -> Statement:
    """A sentence that states the facts, in wordings of the part."""
    for _ in range(_MAX_TRIES):
        text = _write_text(facts, rng, split)
        # What cannot be read back might not mean what it should.
        if any(fact.finding not in FINDINGS for fact in facts) or set(parse_sentence(text).facts) == set(facts):
            return Statement(text, facts)
    return _write_statement(_sample_facts(rng), rng, split)


def _write_text(facts: tuple[Fact, ...], rng: Random, split: Split) -> str:
    first = facts[0]
    keys = tuple(fact.finding for fact in facts)
    if first == ALL_CLEAR_FACT:
        return rng.choice(_split_options(ALL_CLEAR_STATEMENTS, split))
    if first.finding.startswith(ORGAN_PREFIX):
        return organ_sentence(first, rng.choice(_split_options(ORGAN_TEMPLATES, split)), rng)
    if first.finding in _lexicon_names():
        template = rng.choice(_split_options(PRESENT_TEMPLATES if first.positive else ABSENT_TEMPLATES, split))
        return fill_template(template, statement_phrase(first, rng))
    if first.finding not in FINDINGS:
        return first.finding
    denied = all(fact.polarity == "absent" and not fact.change for fact in facts)
    if denied and keys in NORMAL_STATEMENTS and (len(keys) > 1 or rng.random() < 0.5):
        return rng.choice(_split_options(NORMAL_STATEMENTS[keys], split))
    shuffled = rng.sample(facts, k=len(facts))
    if len(facts) == 1:
        return fill_template(rng.choice(_split_options(_templates_of(first), split)), _split_phrase(first, rng, split))
    phrases = [_split_phrase(fact, rng, split) for fact in shuffled]
    if denied:
        return fill_template(
            rng.choice(_split_options(ABSENT_TEMPLATES, split)),
            NounPhrase(_join_words([p.text for p in phrases], " or "), False),
        )
    listed = _join_words([phrase.with_article for phrase in phrases], rng.choice((" and ", " with ", " and ")))
    template = rng.choice(_split_options(JOINT_TEMPLATES, split))
    return template.format(capitalize_first(listed) if template.startswith("{") else listed)


def _templates_of(fact: Fact) -> tuple[str, ...]:
    device = FINDINGS[fact.finding].region == "devices"
    if fact.change:
        return (DEVICE_CHANGE_TEMPLATES if device else CHANGE_TEMPLATES)[fact.change]
    if fact.polarity == "absent":
        return ABSENT_TEMPLATES
    return UNCERTAIN_TEMPLATES if fact.polarity == "uncertain" else DEVICE_TEMPLATES if device else PRESENT_TEMPLATES


@lru_cache(1)
def _lexicon_names() -> frozenset[str]:
    """Names of facts about the words of the lexicon."""
    findings, organs = lexicon_terms()
    return frozenset((*findings, *(ORGAN_PREFIX + organ for organ in organs)))


def _join_words(words: Sequence[str], last: str) -> str:
    return ", ".join(words[:-1]) + (last if len(words) > 1 else "") + words[-1]


def _split_options(options: tuple[T, ...], split: Split) -> tuple[T, ...]:
    """Those of the part: every fourth is for tests."""
    return options[2::4] if split == "test" else tuple(entry for at, entry in enumerate(options) if at % 4 != 2)


def _split_phrase(fact: Fact, rng: Random, split: Split) -> NounPhrase:
    """The finding by a name of the part; tests have all names, training not the one that is held out."""
    while True:
        phrase = noun_phrase(fact, rng)
        if split == "test" or not uses_held_out_name(fact.finding, phrase.text):
            return phrase


def uses_held_out_name(key: str, words: str) -> bool:
    """Whether words name a finding by the name that is held out.

    >>> says_held_name("opacity", "left parenchymal opacity"), says_held_name("opacity", "left hazy opacity")
    (True, False)
    """
    names = [name for name in _finding_names(key) if name in words]
    return (
        bool(names)
        and len(_finding_names(key)) > HELD_OUT_NAME
        and max(names, key=len) == _finding_names(key)[HELD_OUT_NAME]
    )


@cache
def _finding_names(key: str) -> tuple[str, ...]:
    return tuple(noun.removeprefix("*") for noun in FINDINGS[key].names)


def _vary_typography(text: str, rng: Random) -> str:
    """The sentence in one of the manners of writing."""
    manner = rng.random()
    if manner < 0.08:
        return text.lower()
    if manner < 0.11:
        return text.upper()
    if manner < 0.16:
        return f"{rng.randint(1, 9)}. {text}"
    return text.rstrip(".") if manner < 0.22 else text
