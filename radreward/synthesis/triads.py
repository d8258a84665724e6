"""Triads of a sentence, the same in other words, and its opposite: does a metric go by meaning or by words?

As in the third task of RaTE-Eval (RaTEScore, section 3), but written by rules and told by operator. Rewrite and
opposite are made in the same way, both said anew or both by exchanging words, so that neither has more of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random
from typing import NamedTuple

from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.synthesis.perturbations.word_substitution import substitute_words
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS, is_related
from radreward.text.locations import LOCATIONS
from radreward.text.report_parser import PartiallyParsedSentence
from radreward.text.sentence_parser import ParsedSentence, parse_sentence

TRIAD_OPERATORS = ("negation", "laterality", "severity", "synonym")
"""What makes the opposite: a denial or its lack, the other side, another degree, another finding of like name."""
_OTHER_SIDE = {"left": "right", "right": "left"}
_MAX_TRIES = 20
_LEADING_NEGATION = re.compile(
    r"^(?P<verb>There (?P<one>is|was) |There (?:are|were) )?no (?:(?:definite|convincing|evidence of|sign of) )*", re.I
)


class Triad(NamedTuple):
    """A sentence, the same in other words, and what contradicts it."""

    operator: str
    original: str
    rewrite: str
    opposite: str


def generate_triads(count: int, seed: int = 0) -> Iterator[Triad]:
    """Triads by our grammar, the operators in turn.

    Args:
        count: How many.
        seed: Decides everything.

    Raises:
        ValueError: If `count` is less than 1.

    >>> [triad.operator for triad in triads(5)]
    ['negation', 'laterality', 'severity', 'synonym', 'negation']
    """
    if count < 1:
        raise ValueError(f"Expected `count` to be >= 1 but got {count}.")
    return (
        _generate_triad(TRIAD_OPERATORS[number % len(TRIAD_OPERATORS)], Random(f"{seed}:{number}"))
        for number in range(count)
    )


def _generate_triad(operator: str, rng: Random) -> Triad:
    while True:
        fact, other = _sample_opposite_facts(operator, rng)
        original, opposite = (fact_sentence(stated, rng).text for stated in (fact, other))
        rewrite = _reword(original, (fact,), rng, partial(fact_sentence, fact))
        # What cannot be read back might not mean what it should.
        if rewrite and parse_sentence(original).facts == (fact,) and parse_sentence(opposite).facts == (other,):
            return Triad(operator, original, rewrite, opposite)


def _sample_opposite_facts(operator: str, rng: Random) -> tuple[Fact, Fact]:
    """A fact and its opposite."""
    while True:
        fact = sample_fact(sample_findings(rng, tuple(FINDINGS), 1)[0], rng)._replace(change=None, polarity="present")
        if operator == "negation":
            pair = (fact, Fact(fact.finding, "absent"))
            if FINDINGS[fact.finding].region != "devices":
                return pair if rng.random() < 0.5 else pair[::-1]
        elif operator == "synonym":
            if (key := _similar_finding(fact, rng)) is not None:
                return fact, fact._replace(finding=key)
        elif (changed := _contradict(operator, fact, rng)) is not None:
            return fact, changed


def _contradict(operator: str, fact: Fact, rng: Random) -> Fact | None:
    """The fact on the other side, or in another degree."""
    if operator == "laterality":
        place = " ".join(_OTHER_SIDE.get(word, word) for word in (fact.location or "").split(" "))
        known = place in LOCATIONS[FINDINGS[fact.finding].location_group]
        return fact._replace(location=place) if known and place != fact.location else None
    if fact.severity is None:
        return None
    degrees = {"mild": ("severe", "moderate"), "moderate": ("severe", "mild"), "severe": ("mild", "moderate")}
    return fact._replace(severity=rng.choice(degrees[fact.severity]))


def _similar_finding(fact: Fact, rng: Random) -> str | None:
    """Another finding that can have the same place and degree, and is no kind of this one."""
    own = FINDINGS[fact.finding]
    options = [
        key
        for key, entry in FINDINGS.items()
        if entry.region == own.region
        and not is_related(key, fact.finding)
        and (not fact.location or fact.location in LOCATIONS[entry.location_group])
        and (not fact.severity or entry.has_severity)
    ]
    return rng.choice(options) if options else None


def _reword(original: str, facts: tuple[Fact, ...], rng: Random, write: Callable[[Random], Sentence]) -> str | None:
    """Another sentence for the same facts."""
    for _ in range(_MAX_TRIES):
        text = write(rng).text
        if text.lower().rstrip(".") != original.lower().rstrip(".") and parse_sentence(text).facts == facts:
            return text
    return None


def triads_from_sentences(sentences: Iterable[str], seed: int = 0) -> Iterator[Triad]:
    """Triads of real sentences, one for every operator that applies.

    The rewrite exchanges a name for another of the same finding, the opposite a name for that of another finding, a
    word of side or degree, or a denial for a statement. A sentence is left out whose facts would not be read back.

    Args:
        texts: Sentences of reports.
        seed: Decides all wording.

    >>> for triad in triads_of(["There is a small left pleural effusion obscuring the heart border."], seed=4):
    ...     print(triad.operator, "|", triad.opposite)
    laterality | There is a small right pleural effusion obscuring the heart border.
    severity | There is a large left pleural effusion obscuring the heart border.
    """
    for number, text in enumerate(sentences):
        rng = Random(f"{seed}:{number}")
        reading = parse_sentence(text)
        if not reading.spans or any(fact.change for fact in reading.facts):
            continue
        rewrite = _rename_any_finding(text, reading, rng)
        if rewrite is None:
            continue
        for operator in TRIAD_OPERATORS:
            if (opposite := _write_opposite(operator, text, reading, rng)) is not None:
                yield Triad(operator, text, rewrite, opposite)


def _rename_any_finding(text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    places = rng.sample(range(len(parsed.facts)), k=len(parsed.facts))
    renamed = (_rename_finding(text, parsed, place, parsed.facts[place].finding, rng) for place in places)
    return next((said for said in renamed if said), None)


def _rename_finding(text: str, parsed: ParsedSentence, index: int, key: str, rng: Random) -> str | None:
    """The sentence with the name of one finding exchanged for a name of another, or another name of the same."""
    start, end = parsed.spans[index].name
    said, facts = text[start:end], list(parsed.facts)
    facts[index] = facts[index]._replace(finding=key)
    before = text[:start].rstrip().lower()
    names = [name.removeprefix("*") for name in FINDINGS[key].names if name.startswith("*") != _has_article(before)]
    for name in rng.sample(names, k=len(names)):
        name = name[:1].upper() + name[1:] if said[0].isupper() and start == 0 else name
        vowels = [word[:1].lower() in "aeiou" for word in (name, said)]
        if name.lower() == said.lower() or (vowels[0] != vowels[1] and before.endswith((" a", " an"))):
            continue
        changed = text[:start] + name + text[end:]
        if parse_sentence(changed).facts == tuple(facts):
            return changed
    return None


def _has_article(before: str) -> bool:
    return any(word in ("a", "an") for word in before.split()[-4:])


def _write_opposite(operator: str, text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    facts = parsed.facts
    if operator == "synonym":
        place = rng.randrange(len(facts))
        key = _similar_finding(facts[place], rng)
        return _rename_finding(text, parsed, place, key, rng) if key else None
    if operator == "negation":
        return _negate(text, parsed, rng)
    present = [place for place, fact in enumerate(facts) if fact.positive]
    for place in rng.sample(present, k=len(present)):
        if (changed := _contradict(operator, facts[place], rng)) is not None:
            said = substitute_words(
                PartiallyParsedSentence(text, facts), (*facts[:place], changed, *facts[place + 1 :])
            )
            if said is not None:
                return said
    return None


def _negate(text: str, parsed: ParsedSentence, rng: Random) -> str | None:
    """What was there is denied, or what was denied is there."""
    facts = parsed.facts
    turned = tuple(Fact(fact.finding, "absent" if fact.positive else "present") for fact in facts)
    if len({fact.polarity for fact in turned}) > 1:
        return None
    changed = _LEADING_NEGATION.sub(_affirmative_start, text, count=1)
    if (
        changed != text
        and tuple(fact._replace(location=None, severity=None) for fact in parse_sentence(changed).facts) == turned
    ):
        return changed[:1].upper() + changed[1:]
    if not parsed.is_complete:
        return None
    said = fact_sentence(turned[0], rng).text if len(turned) == 1 else joint_sentence(turned, rng).text
    return said if parse_sentence(said).facts == turned else None


def _affirmative_start(match: re.Match[str]) -> str:
    return (match["verb"] or "") + ("a " if match["verb"] and match["one"] else "")
