"""Sentences with known relations, because the facts that they state are known.

A quarter of the wordings, and one name of every finding with many names, is held out: test sentences use these
wordings, training sentences the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Literal, NamedTuple, TypeVar

from experiments.sentence_eval.lexicon_statements import ORGAN_PREFIX, ORGAN_TEMPLATES, organ_sentence, statement_phrase
from experiments.sentence_eval.relation_facts import lexicon_findings, sample_sentence_facts, vary_facts
from experiments.sentence_eval.relation_score import ALL_CLEAR_FACT, relation_score
from radreward.data.relation_io import SentenceRelations
from radreward.synthesis.grammar import fit_case, is_plain_negation, templates_of
from radreward.synthesis.noun_phrases import NounPhrase, fill_template, join_words, noun_phrase
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    ALL_CLEAR_STATEMENTS,
    NORMAL_STATEMENTS,
    PRESENT_TEMPLATES,
)

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
"""Templates for several findings."""
SENTENCES_PER_RECORD = 8
KINDS = ("same", "partly", "contrary", "near", "other")
KIND_WEIGHTS = (5, 6, 5, 3, 2)
HELD_OUT_NAME = 4
"""Index of the held-out name, of findings with more names."""
_MAX_TRIES = 50


class Statement(NamedTuple):
    """A sentence and its facts."""

    text: str
    facts: tuple[Fact, ...]


def generate_sentence_relations(count: int, seed: int = 0, split: Split = "train") -> Iterator[SentenceRelations]:
    """Yield records of related sentences, with the score of every pair that has one.

    Args:
        count: Number of records.
        seed: Seed of all sampling.
        split: `train`, or `test` with wordings that no training sentence has.

    Raises:
        ValueError: If `count` is less than 1.

    >>> record = next(generate_sentence_relations(1, seed=3))
    >>> len(record.sentences), record.pairs[0][:2]
    (8, (0, 1))
    """
    if count < 1:
        raise ValueError(f"Expected `count` to be >= 1 but got {count}.")
    for number in range(count):
        rng = Random(f"relations:{split}:{seed}:{number}")
        statements = _sample_statements(rng, split)
        texts = tuple(_vary_typography(statement.text, rng) for statement in statements)
        pairs = [
            (i, j, score)
            for j, second in enumerate(statements)
            for i, first in enumerate(statements[:j])
            if (score := relation_score(first.facts, second.facts)) is not None
        ]
        yield SentenceRelations(texts, tuple(sorted(pairs)))


def _sample_statements(rng: Random, split: Split) -> list[Statement]:
    """Return a sentence, and others that state the same, something similar, the contrary or something else."""
    base = _write_statement(sample_sentence_facts(rng), rng, split)
    statements = [base]
    while len(statements) < SENTENCES_PER_RECORD:
        kind = rng.choices(KINDS, KIND_WEIGHTS)[0]
        statement = _write_statement(vary_facts(kind, base.facts, rng), rng, split)
        is_new = statement.text.lower() not in {other.text.lower() for other in statements}
        if is_new or kind in ("near", "other"):
            statements.append(statement)
    return statements


def _write_statement(facts: tuple[Fact, ...], rng: Random, split: Split) -> Statement:
    """Return a sentence for facts, in wordings of the split."""
    for _ in range(_MAX_TRIES):
        text = _write_text(facts, rng, split)
        # A sentence that cannot be parsed back may be ambiguous.
        if any(fact.finding not in FINDINGS for fact in facts) or set(sentence_facts(text)) == set(facts):
            return Statement(text, facts)
    return _write_statement(sample_sentence_facts(rng), rng, split)


def _write_text(facts: tuple[Fact, ...], rng: Random, split: Split) -> str:
    def choose(options: tuple[T, ...]) -> T:
        return rng.choice(_split_options(options, split))

    first = facts[0]
    keys = tuple(fact.finding for fact in facts)
    if first == ALL_CLEAR_FACT:
        return choose(ALL_CLEAR_STATEMENTS)
    if first.finding.startswith(ORGAN_PREFIX):
        return organ_sentence(first, choose(ORGAN_TEMPLATES), rng)
    if first.finding in lexicon_findings():
        template = choose(PRESENT_TEMPLATES if first.positive else ABSENT_TEMPLATES)
        return fill_template(template, statement_phrase(first, rng))
    if first.finding not in FINDINGS:
        return first.finding
    all_negated = all(map(is_plain_negation, facts))
    if all_negated and keys in NORMAL_STATEMENTS and (len(keys) > 1 or rng.random() < 0.5):
        return choose(NORMAL_STATEMENTS[keys])
    shuffled = rng.sample(facts, k=len(facts))
    if len(facts) == 1:
        return fill_template(choose(templates_of(first)), _split_phrase(first, rng, split))
    phrases = [_split_phrase(fact, rng, split) for fact in shuffled]
    if all_negated:
        listed = join_words([phrase.text for phrase in phrases], " or ")
        return fill_template(choose(ABSENT_TEMPLATES), NounPhrase(listed, takes_article=False))
    listed = join_words([phrase.with_article for phrase in phrases], rng.choice((" and ", " with ", " and ")))
    template = choose(JOINT_TEMPLATES)
    return template.format(fit_case(listed, template))


def _split_options(options: tuple[T, ...], split: Split) -> tuple[T, ...]:
    """Return the options of a split: every fourth is for testing."""
    return options[2::4] if split == "test" else tuple(option for at, option in enumerate(options) if at % 4 != 2)


def _split_phrase(fact: Fact, rng: Random, split: Split) -> NounPhrase:
    """Return a noun phrase of a split: testing uses all names, training not the held-out one."""
    while True:
        phrase = noun_phrase(fact, rng)
        if split == "test" or not uses_held_out_name(fact.finding, phrase.text):
            return phrase


def uses_held_out_name(key: str, text: str) -> bool:
    """Return True if a text names a finding by its held-out name.

    >>> uses_held_out_name("opacity", "left parenchymal opacity"), uses_held_out_name("opacity", "left hazy opacity")
    (True, False)
    """
    names = _finding_names(key)
    mentioned = [name for name in names if name in text]
    return bool(mentioned) and len(names) > HELD_OUT_NAME and max(mentioned, key=len) == names[HELD_OUT_NAME]


@cache
def _finding_names(key: str) -> tuple[str, ...]:
    return FINDINGS[key].plain_names


def _vary_typography(text: str, rng: Random) -> str:
    """Return a sentence, sometimes in lowercase, in upper case, numbered or without a full stop."""
    kind = rng.random()
    if kind < 0.08:
        return text.lower()
    if kind < 0.11:
        return text.upper()
    if kind < 0.16:
        return f"{rng.randint(1, 9)}. {text}"
    return text.rstrip(".") if kind < 0.22 else text
