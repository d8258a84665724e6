"""Scores of two sentences from the facts that they state: same, partly, unrelated, contradictory."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.sentence_eval.lexicon_statements import have_common_word
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, ancestors, is_related
from radreward.text.sentence_templates import FILLER_SENTENCES

ALL_CLEAR_FACT = Fact("all clear", "absent")
"""Fact of "no acute process"; not a finding of the vocabulary."""


def relation_score(first: Sequence[Fact], second: Sequence[Fact]) -> float | None:
    """Return the score of two sentences, or None if it is undecidable.

    -1 if one sentence negates a fact of the other. Otherwise 1 if both state the same; 0.5 if they share a finding, or
    a kind of it, but differ in location, severity, change, certainty or other findings; 0 if nothing is related.

    >>> effusion = Fact("effusion", location="left")
    >>> [relation_score([effusion], [Fact("effusion", *rest)]) for rest in (("present", "left"), (), ("absent",))]
    [1.0, 0.5, -1.0]
    """
    table = [[_score_facts(a, b) for b in second] for a in first]
    scores = {score for row in table for score in row}
    if -1.0 in scores:
        return -1.0
    if scores and all(1.0 in row for row in [*table, *zip(*table, strict=True)]):
        return 1.0
    if scores & {0.5, 1.0}:
        return 0.5
    return None if None in scores else 0.0


def _score_facts(first: Fact, second: Fact) -> float | None:
    if first == second:
        return 1.0
    if ALL_CLEAR_FACT in (first, second):
        return _score_all_clear(second if first == ALL_CLEAR_FACT else first)
    if first.finding not in FINDINGS or second.finding not in FINDINGS:
        return _score_lexicon_facts(first, second)
    if not is_related(first.finding, second.finding):
        return 0.0
    if first.positive == second.positive:
        return 0.5
    negated, stated = sorted((first, second), key=lambda fact: fact.positive)
    # "No opacity" excludes pneumonia, but "no pneumonia" does not exclude an opacity.
    return -1.0 if negated.finding in ancestors(stated.finding) else None


def _score_lexicon_facts(first: Fact, second: Fact) -> float | None:
    """Return the score if a finding is not in the vocabulary: undecidable if names share a word."""
    if first.finding == second.finding:
        return 0.5 if first.positive == second.positive else -1.0
    names = [FINDINGS[fact.finding].names if fact.finding in FINDINGS else (fact.finding,) for fact in (first, second)]
    return None if any(have_common_word(a, b) for a in names[0] for b in names[1]) else 0.0


def _score_all_clear(fact: Fact) -> float | None:
    """Return the score of "no acute process" and a fact."""
    if fact.finding not in FINDINGS:
        return 0.0 if fact.finding in FILLER_SENTENCES else None
    if not fact.positive:
        return 0.5
    return -1.0 if FINDINGS[fact.finding].is_significant else None
