"""Triads of a sentence, a paraphrase and its opposite, as in the third task of RaTE-Eval (RaTEScore, section 3).

Paraphrase and opposite are made in the same way, both rewritten or both by exchanging words, so that neither shares
more words with the sentence. A metric should prefer the paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from random import Random
from typing import NamedTuple

from experiments.ratescore.sentence_edits import negate_or_affirm, rename_finding, reword, similar_findings
from radreward.synthesis.fact_sampling import sample_any_finding, sample_plain_fact
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.perturbations.fact_edits import mirrored_location, other_severities
from radreward.synthesis.perturbations.word_substitution import substitute_words
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import ParsedSentence, parse_sentence

TRIAD_OPERATORS = ("negation", "laterality", "severity", "synonym")
"""Kinds of opposites: other polarity, other side, other severity, a similar finding."""


class Triad(NamedTuple):
    """A sentence, a paraphrase, and a sentence that contradicts it."""

    operator: str
    original: str
    rewrite: str
    opposite: str


def generate_triads(count: int, seed: int = 0) -> Iterator[Triad]:
    """Return triads of the report grammar, the operators in turn.

    Args:
        count: Number of triads.
        seed: Seed of all sampling.

    Raises:
        ValueError: If `count` is less than 1.

    >>> [triad.operator for triad in generate_triads(5)]
    ['negation', 'laterality', 'severity', 'synonym', 'negation']
    """
    if count < 1:
        raise ValueError(f"Expected `count` to be >= 1 but got {count}.")
    operators = (TRIAD_OPERATORS[number % len(TRIAD_OPERATORS)] for number in range(count))
    return (_generate_triad(operator, Random(f"{seed}:{number}")) for number, operator in enumerate(operators))


def _generate_triad(operator: str, rng: Random) -> Triad:
    while True:
        fact, opposite_fact = _sample_opposite_facts(operator, rng)
        original, opposite = (fact_sentence(stated, rng).text for stated in (fact, opposite_fact))
        rewrite = reword(original, (fact,), rng, partial(fact_sentence, fact))
        # A sentence that cannot be parsed back may be ambiguous.
        if rewrite and parse_sentence(original).facts == (fact,) and parse_sentence(opposite).facts == (opposite_fact,):
            return Triad(operator, original, rewrite, opposite)


def _sample_opposite_facts(operator: str, rng: Random) -> tuple[Fact, Fact]:
    while True:
        fact = sample_plain_fact(sample_any_finding(rng), rng)
        if operator == "negation":
            pair = (fact, Fact(fact.finding, "absent"))
            if not FINDINGS[fact.finding].is_device:
                return pair if rng.random() < 0.5 else pair[::-1]
        elif operator == "synonym":
            if options := similar_findings(fact):
                return fact, fact._replace(finding=rng.choice(options))
        elif (changed := _change_detail(operator, fact, rng)) is not None:
            return fact, changed


def _change_detail(operator: str, fact: Fact, rng: Random) -> Fact | None:
    """Return the fact on the other side or with another severity, or None if it has neither."""
    if operator == "laterality":
        location = mirrored_location(fact)
        return fact._replace(location=location) if location else None
    if fact.severity is None:
        return None
    severities = other_severities(fact)
    if fact.severity != "severe":
        severities.reverse()
    return fact._replace(severity=rng.choice(severities))


def triads_from_sentences(sentences: Iterable[str], seed: int = 0) -> Iterator[Triad]:
    """Yield triads of real sentences, one per operator that applies.

    The paraphrase names a finding differently. The opposite names another finding, exchanges a word of side or
    severity, or turns a negation into a statement. Sentences whose edits cannot be parsed back are skipped.

    Args:
        sentences: Sentences of reports.
        seed: Seed of all sampling.

    >>> for triad in triads_from_sentences(["There is a small left pleural effusion obscuring the heart."], seed=4):
    ...     print(triad.operator, "|", triad.opposite)
    laterality | There is a small right pleural effusion obscuring the heart.
    severity | There is a moderate left pleural effusion obscuring the heart.
    synonym | There is a small left apical pneumothorax obscuring the heart.
    """
    for number, text in enumerate(sentences):
        rng = Random(f"{seed}:{number}")
        parsed = parse_sentence(text)
        if not parsed.spans or any(fact.change for fact in parsed.facts):
            continue
        rewrite = _rename_any_finding(text, parsed, rng)
        if rewrite is None:
            continue
        for operator in TRIAD_OPERATORS:
            if (opposite := _write_opposite(operator, text, parsed, rng)) is not None:
                yield Triad(operator, text, rewrite, opposite)


def _rename_any_finding(text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    indices = rng.sample(range(len(parsed.facts)), k=len(parsed.facts))
    renamed = (rename_finding(text, parsed, index, parsed.facts[index].finding, rng) for index in indices)
    return next((sentence for sentence in renamed if sentence), None)


def _write_opposite(operator: str, text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    facts = parsed.facts
    if operator == "synonym":
        index = rng.randrange(len(facts))
        options = similar_findings(facts[index])
        return rename_finding(text, parsed, index, rng.choice(options), rng) if options else None
    if operator == "negation":
        return negate_or_affirm(text, parsed, rng)
    positive = [index for index, fact in enumerate(facts) if fact.positive]
    for index in rng.sample(positive, k=len(positive)):
        if (changed := _change_detail(operator, facts[index], rng)) is not None:
            opposite = substitute_words(Sentence(text, facts), (*facts[:index], changed, *facts[index + 1 :]))
            if opposite is not None:
                return opposite
    return None
