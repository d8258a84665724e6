"""Edits of annotated reports that keep facts and text consistent.

A fact is edited in every sentence that states it, in findings and impression. Completely parsed sentences are reworded,
moved or dropped. In a `PartiallyParsedSentence`, only words of the fact are substituted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, groupby
from random import Random

from radreward.synthesis.grammar import fact_sentence, joint_sentence, restate_facts
from radreward.synthesis.noun_phrases import are_both_sides
from radreward.synthesis.perturbations.fact_edits import (
    both_sides,
    more_general_facts,
    more_specific_facts,
    sides_of,
    similar_sizes,
)
from radreward.synthesis.perturbations.sentence_edits import exchange_one_word
from radreward.synthesis.perturbations.word_substitution import substitute_words
from radreward.text.changes import mentions_change
from radreward.text.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.text.findings import FINDINGS, MALPOSITIONED, is_related
from radreward.text.report_parser import BODY_SECTIONS, PartiallyParsedSentence, is_heading, refers_back
from radreward.text.severity import SEVERITY_WORDS


def insert_facts(report: AnnotatedReport, facts: Sequence[Fact], rng: Random) -> AnnotatedReport | None:
    """State facts in one sentence of one or both sections; return None if no section can have another sentence.

    Several facts must be certain and without change.
    """
    sentences = list(report.sentences)
    sections = [section for section in BODY_SECTIONS if _insertion_points(sentences, section)]
    if not sections:
        return None
    for section in rng.sample(sections, k=rng.choice((1, 1, len(sections)))):
        index = rng.choice(_insertion_points(sentences, section))
        previous = sentences[index - 1] if index else None
        if previous and previous.section == section and not isinstance(previous, PartiallyParsedSentence):
            sentences[index - 1] = previous.with_full_stop()
        is_list = len(facts) > 1
        sentences.insert(
            index, joint_sentence(facts, rng, section) if is_list else fact_sentence(facts[0], rng, section)
        )
    return report._replace(sentences=tuple(_without_contradictions(sentences, facts, rng)))


def _insertion_points(sentences: Sequence[Sentence], section: Section) -> list[int]:
    """Return indices for a new sentence: not before a heading, nor before a sentence that refers back."""
    indices = [i for i, sentence in enumerate(sentences) if sentence.section == section]
    points = [i for i in indices if not (is_heading(sentences[i]) or refers_back(sentences[i]))]
    if indices:
        last = sentences[indices[-1]]
        is_open = isinstance(last, PartiallyParsedSentence) and last.with_full_stop() != last and not is_heading(last)
        if not is_open:
            points.append(indices[-1] + 1)
    return points


def _without_contradictions(sentences: list[Sentence], facts: Sequence[Fact], rng: Random) -> list[Sentence]:
    """Return sentences without the negations that new facts contradict."""
    consistent = []
    for sentence in sentences:
        rest = tuple(
            stated
            for stated in sentence.facts
            if stated.positive or stated.change or not any(is_related(stated.finding, fact.finding) for fact in facts)
        )
        if rest == sentence.facts:
            consistent.append(sentence)
        elif rest:
            consistent += restate_facts(rest, rng, sentence.section)
    return consistent


def replace_fact(report: AnnotatedReport, old: Fact, new: Fact | None, rng: Random) -> AnnotatedReport | None:
    """Replace or omit a fact in every sentence that states it, with all or some of its details.

    Args:
        report: The report.
        old: The fact to replace.
        new: The fact to state instead, or None to omit the old one.
        rng: Source of randomness for the wording.

    Returns:
        The edited report, or None if the report does not state the fact or a sentence cannot be edited.
    """
    is_changed = False
    sentences: list[Sentence] = []
    for sentence in report.sentences:
        if not any(_states(fact, old) for fact in sentence.facts):
            sentences.append(sentence)
            continue
        is_changed = True
        facts = _facts_after(sentence, old, new)
        if facts == sentence.facts:
            sentences.append(sentence)
            continue
        text = None
        if isinstance(sentence, PartiallyParsedSentence):
            text = substitute_words(sentence, facts)
        elif facts:
            text = exchange_one_word(sentence, facts)
        if text is not None:
            sentences.append(sentence._replace(text=text, facts=facts))
        elif isinstance(sentence, PartiallyParsedSentence):
            return None
        elif facts:
            sentences += restate_facts(facts, rng, sentence.section)
    return report._replace(sentences=tuple(sentences)) if is_changed and sentences else None


def can_replace_fact(report: AnnotatedReport, old: Fact, new: Fact | None) -> bool:
    """Return True if every partially parsed sentence that states a fact can be edited."""
    partial = [sentence for sentence in report.sentences if isinstance(sentence, PartiallyParsedSentence)]
    edits = [(sentence, _facts_after(sentence, old, new)) for sentence in partial]
    return all(facts == sentence.facts or substitute_words(sentence, facts) is not None for sentence, facts in edits)


def has_unparsed_comparison(report: AnnotatedReport) -> bool:
    """Return True if a sentence mentions a change or a prior study without a parsed fact."""
    return any(
        isinstance(sentence, PartiallyParsedSentence)
        and sentence.section in BODY_SECTIONS
        and not sentence.facts
        and mentions_change(sentence.text)
        for sentence in report.sentences
    )


def _states(fact: Fact, old: Fact) -> bool:
    """Return True if `fact` states `old`, with all or some of its details."""
    return (
        fact.finding == old.finding
        and (fact.positive or fact.change is not None)
        and fact.positive == old.positive
        and all(stated is None or stated == full for full, stated in zip(old[2:], fact[2:], strict=True))
    )


def _facts_after(sentence: Sentence, old: Fact, new: Fact | None) -> tuple[Fact, ...]:
    """Return the facts of a sentence if `new` is true instead of `old`."""
    edited = [_edit_fact(fact, old, new) if _states(fact, old) else fact for fact in sentence.facts]
    return tuple(fact for fact in edited if fact is not None)


def _edit_fact(fact: Fact, old: Fact, new: Fact | None) -> Fact | None:
    """Return a fact that states `old` as one that states `new`; details that it does not state stay open."""
    if new is None:
        return None
    details = {
        name: getattr(new, name)
        for name in ("polarity", "location", "severity", "change", "size")
        if getattr(new, name) != getattr(old, name) and (getattr(fact, name) is not None or getattr(old, name) is None)
    }
    return fact._replace(**details, finding=new.finding)


def make_vague(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a finding under a more general name, or without its details; return None if none can be stated so."""
    return _rename(
        report, lambda fact: [*more_general_facts(fact), fact._replace(location=None, severity=None, size=None)], rng
    )


def make_specific(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a kind of a finding, or what it shows, in place of it; return None if none can be stated so."""
    return _rename(report, more_specific_facts, rng)


def _rename(report: AnnotatedReport, names: Callable[[Fact], list[Fact]], rng: Random) -> AnnotatedReport | None:
    """State one certain finding in another way, unless the report has a related one."""
    stated = [fact.finding for fact in report.facts]
    options = [
        (fact, renamed)
        for fact in report.facts
        if fact.polarity == "present"
        and sum(is_related(name, fact.finding) for name in stated) == 1  # no second side, no sign
        for renamed in names(fact)
        if renamed != fact
        and not {fact.finding, renamed.finding} & set(MALPOSITIONED.values())  # another place is an error
        and not any(is_related(renamed.finding, name) for name in stated if name != fact.finding)
    ]
    return replace_fact(report, *rng.choice(options), rng) if options else None


def add_details(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a location or severity that the report leaves open, which is no error; return None if it states all."""
    names = [fact.finding for fact in report.facts]
    options: list[tuple[Fact, Fact]] = []
    for fact in report.facts:
        if fact.polarity != "present" or sum(is_related(name, fact.finding) for name in names) > 1:
            continue
        finding = FINDINGS[fact.finding]
        if fact.location is None and finding.locations:
            options.append((fact, fact._replace(location=rng.choice(finding.locations))))
        if fact.severity is None and finding.has_severity:
            options.append((fact, fact._replace(severity=rng.choice(tuple(SEVERITY_WORDS)))))
    return replace_fact(report, *rng.choice(options), rng) if options else None


def restate_sides(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a bilateral finding as its two sides, or two sides as a bilateral finding, which is no error.

    Returns:
        The edited report, or None if there is no such finding.
    """
    wholes = [fact for fact in report.facts if fact.positive and sides_of(fact)]
    pairs = [
        (first, second)
        for first, second in combinations(report.facts, 2)
        if are_both_sides(first, second) and first == second._replace(location=first.location) and both_sides(first)
    ]
    if not wholes and not pairs:
        return None
    if pairs and (not wholes or rng.random() < 0.5):
        first, second = rng.choice(pairs)
        joined = replace_fact(report, second, None, rng)
        return replace_fact(joined, first, both_sides(first), rng) if joined else None
    return _split_sides(report, rng.choice(wholes), rng)


def _split_sides(report: AnnotatedReport, whole: Fact, rng: Random) -> AnnotatedReport | None:
    """State the two sides of a bilateral fact, in one sentence or in two; None if a sentence cannot be edited."""
    sentences: list[Sentence] = []
    for sentence in report.sentences:
        split = [fact for fact in sentence.facts if fact.location == whole.location and _states(fact, whole)]
        if not split:
            sentences.append(sentence)
        elif isinstance(sentence, PartiallyParsedSentence):
            return None
        else:
            facts = [side for fact in sentence.facts for side in (sides_of(fact) if fact in split else (fact,))]
            groups = [facts] if rng.random() < 0.5 else [[fact] for fact in facts]
            sentences += [new for group in groups for new in restate_facts(group, rng, sentence.section)]
    return report._replace(sentences=tuple(sentences))


def remeasure(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a size as another measurement may give it, which is no error; return None if no size is stated."""
    options = [
        (fact, fact._replace(size=size)) for fact in report.facts if fact.size for size in similar_sizes(fact.size)
    ]
    return replace_fact(report, *rng.choice(options), rng) if options else None


def paraphrase(report: AnnotatedReport, rng: Random, probability: float = 1.0) -> AnnotatedReport:
    """Reword each sentence with a probability, drop some filler and reorder the rest; causes no error."""
    sentences: list[Sentence] = []
    for sentence in report.sentences:
        if isinstance(sentence, PartiallyParsedSentence):
            sentences.append(sentence)
        elif sentence.facts and rng.random() < probability:
            sentences += restate_facts(sentence.facts, rng, sentence.section)
        elif sentence.facts or rng.random() > probability / 2:
            sentences.append(sentence)
    return reorder(report._replace(sentences=tuple(sentences or report.sentences)), rng, probability)


def reorder(report: AnnotatedReport, rng: Random, probability: float = 1.0) -> AnnotatedReport:
    """Shuffle the completely parsed sentences of each section with a probability; causes no error."""
    sentences: list[Sentence] = []
    for _, group in groupby(report.sentences, key=lambda sentence: sentence.section):
        section = list(group)
        movable = [sentence for sentence in section if not isinstance(sentence, PartiallyParsedSentence)]
        if rng.random() < probability:
            rng.shuffle(movable)
        moved = iter(movable)
        for sentence in section:
            is_fixed = isinstance(sentence, PartiallyParsedSentence)
            sentences.append(sentence if is_fixed else next(moved).with_full_stop())
    return report._replace(sentences=tuple(sentences))


def drop_and_shuffle(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Drop each completely parsed sentence with probability 0.45 and reorder the rest; one sentence always stays."""
    retained = [
        sentence
        for sentence in report.sentences
        if isinstance(sentence, PartiallyParsedSentence) or rng.random() > 0.45
    ]
    return reorder(report._replace(sentences=tuple(retained or report.sentences[:1])), rng)
