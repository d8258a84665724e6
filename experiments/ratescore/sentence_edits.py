"""Edits of single sentences that make paraphrases and opposites: negate, rename and reword."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, is_related
from radreward.text.measurements import MEASURED_FINDINGS
from radreward.text.negation import drop_leading_negation
from radreward.text.sentence_parser import ParsedSentence, parse_sentence


def similar_findings(fact: Fact) -> list[str]:
    """Return unrelated findings of the same region that can have the same location, severity and size.

    >>> similar_findings(Fact("pneumothorax", location="left", severity="mild"))[:2]
    ['effusion', 'loculated']
    """
    region = FINDINGS[fact.finding].region
    return [
        key
        for key, finding in GENERATED_FINDINGS.items()
        if finding.region == region
        and not is_related(key, fact.finding)
        and (not fact.location or fact.location in finding.locations)
        and (not fact.severity or finding.has_severity)
        and (not fact.size or key in MEASURED_FINDINGS)
    ]


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
    opposite = tuple(map(_flip_polarity, parsed.facts))
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


def _flip_polarity(fact: Fact) -> Fact:
    """Return the finding without details: absent if it was positive, otherwise present."""
    return Fact(fact.finding, "absent" if fact.positive else "present")


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
    'Small air between the lung and the chest wall.'
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
