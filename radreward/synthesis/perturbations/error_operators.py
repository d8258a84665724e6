"""Errors made on purpose: one operator for each of the six RadCliQ types, and rewording that makes none.

An operator takes an annotated report, generated or real, and returns it edited in every place that states the fact
(findings and impression alike), or None where it does not apply. What it caused is told by `count_errors` from the
facts before and after, so that nothing goes uncounted: sentences that were read wholly are said anew, moved or left
out; in an `PartiallyParsedSentence` a word of the fact is exchanged or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from random import Random

from radreward.synthesis.error_counting import (
    FALSE_COMPARISON,
    FALSE_PREDICTION,
    OMISSION,
    OMITTED_COMPARISON,
    REPORTABLE_CHANGES,
    WRONG_LOCATION,
    WRONG_SEVERITY,
)
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence, restate_facts
from radreward.synthesis.perturbations.word_substitution import possibly_mentioned, substitute_words
from radreward.text.changes import mentions_change
from radreward.text.facts import AnnotatedReport, Change, Fact, Section, Sentence
from radreward.text.findings import FINDINGS, is_related
from radreward.text.locations import LOCATIONS
from radreward.text.report_parser import BODY_SECTIONS, PartiallyParsedSentence
from radreward.text.sentence_parser import sentence_facts
from radreward.text.severity import SEVERITY_WORDS

ErrorOperator = Callable[[AnnotatedReport, Random], AnnotatedReport | None]


def add_false_finding(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State a finding that the report does not have."""
    said = {fact.finding for fact in report.facts if fact.positive or fact.change}
    unsure = possibly_mentioned(report)
    free = [key for key in FINDINGS if key not in unsure and not any(is_related(key, other) for other in said)]
    if not free:
        return None
    fact = sample_fact(sample_findings(rng, free, 1)[0], rng)._replace(change=None)
    return insert_fact(report, fact, rng)


def omit_finding(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Leave a finding out."""
    options = [fact for fact in report.facts if fact.positive and _can_become(report, fact, None)]
    return replace_fact(report, rng.choice(options), None, rng) if options else None


def change_location(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Put a finding in another place; left and right most often."""
    options = [fact for fact in report.facts if fact.positive and fact.location and _other_locations(report, fact)]
    if not options:
        return None
    fact = rng.choice(options)
    mirrored = _mirror_location(fact.location or "")
    places = _other_locations(report, fact)
    place = mirrored if mirrored in places and rng.random() < 0.6 else rng.choice(places)
    return replace_fact(report, fact, fact._replace(location=place), rng)


def change_severity(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Give a finding another degree."""
    options = [fact for fact in report.facts if fact.positive and fact.severity and _other_severities(report, fact)]
    if not options:
        return None
    fact = rng.choice(options)
    return replace_fact(report, fact, fact._replace(severity=rng.choice(_other_severities(report, fact))), rng)


def add_comparison(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Compare a finding with an earlier study where the report does not."""
    options = [
        fact
        for fact in report.facts
        if fact.polarity == "present"
        and fact.change is None
        and FINDINGS[fact.finding].can_change
        and _can_become(report, fact, fact._replace(change="stable"))
    ]
    if not options or _has_unparsed_comparison(report):
        return None
    fact = rng.choice(options)
    device = FINDINGS[fact.finding].region == "devices"
    changes: tuple[Change, ...] = ("new", "stable") if device else ("new", "worse", "better", "stable")
    return replace_fact(report, fact, fact._replace(change=rng.choice(changes)), rng)


def omit_comparison(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Leave out that a finding has changed, not the finding."""
    options = [
        fact
        for fact in report.facts
        if fact.positive and fact.change in REPORTABLE_CHANGES and _can_become(report, fact, fact._replace(change=None))
    ]
    if not options or _has_unparsed_comparison(report):
        return None
    fact = rng.choice(options)
    return replace_fact(report, fact, fact._replace(change=None), rng)


ERROR_OPERATORS: dict[str, ErrorOperator] = {
    FALSE_PREDICTION: add_false_finding,
    OMISSION: omit_finding,
    WRONG_LOCATION: change_location,
    WRONG_SEVERITY: change_severity,
    FALSE_COMPARISON: add_comparison,
    OMITTED_COMPARISON: omit_comparison,
}
"""By the tag of the error that they make."""


def insert_fact(report: AnnotatedReport, fact: Fact, rng: Random) -> AnnotatedReport | None:
    """State a fact in one of the report's sections, or in two; None if there is no place for it."""
    sentences = list(report.sentences)
    sections = [section for section in BODY_SECTIONS if _insertion_points(sentences, section)]
    if not sections:
        return None
    for section in rng.sample(sections, k=rng.choice((1, 1, len(sections)))):
        where = rng.choice(_insertion_points(sentences, section))
        if (
            where
            and sentences[where - 1].section == section
            and not isinstance(sentences[where - 1], PartiallyParsedSentence)
        ):
            sentences[where - 1] = sentences[where - 1].with_full_stop()
        sentences.insert(where, fact_sentence(fact, rng, section))
    return report._replace(sentences=tuple(_without_contradictions(sentences, fact, rng)))


def _insertion_points(sentences: Sequence[Sentence], section: Section) -> list[int]:
    """Where a sentence of a section can be put: not before a heading or a sentence that speaks of the one before it."""
    own = [i for i, entry in enumerate(sentences) if entry.section == section]
    slots = [
        i
        for i in own
        if not (isinstance(entry := sentences[i], PartiallyParsedSentence) and (entry.is_heading or entry.refers_back))
    ]
    if own and not (
        isinstance(last := sentences[own[-1]], PartiallyParsedSentence)
        and last.with_full_stop() != last
        and not last.is_heading
    ):
        slots.append(own[-1] + 1)
    return slots


def _without_contradictions(sentences: list[Sentence], fact: Fact, rng: Random) -> list[Sentence]:
    """Without the denials that the new fact contradicts; a sentence that denied nothing else is dropped."""
    kept = []
    for entry in sentences:
        clash = tuple(f for f in entry.facts if not f.positive and not f.change and is_related(f.finding, fact.finding))
        if not clash:
            kept.append(entry)
        elif len(clash) < len(entry.facts):
            rest = tuple(f for f in entry.facts if f not in clash)
            kept += restate_facts(rest, rng, entry.section)
    return kept


def replace_fact(report: AnnotatedReport, old: Fact, new: Fact | None, rng: Random) -> AnnotatedReport | None:
    """Change a fact wherever the report states it, more or less fully; None if some place could not be changed."""
    changed = False
    sentences: list[Sentence] = []
    for entry in report.sentences:
        if not any(_states(fact, old) for fact in entry.facts):
            sentences.append(entry)
            continue
        changed = True
        facts = _facts_after(entry, old, new)
        if facts == entry.facts:
            sentences.append(entry)
        elif isinstance(entry, PartiallyParsedSentence):
            if (text := substitute_words(entry, facts)) is None:
                return None
            sentences.append(entry._replace(text=text, facts=facts))
        elif facts and (text := _substitute_word(entry, facts)) is not None:
            sentences.append(entry._replace(text=text, facts=facts))
        else:
            sentences += restate_facts(facts, rng, entry.section) if facts else []
    return report._replace(sentences=tuple(sentences)) if changed and sentences else None


def _states_no_more(full: Fact, fact: Fact) -> bool:
    """Whether `fact` states nothing that `full` does not."""
    return fact.positive == full.positive and all(
        said is None or said == known for known, said in zip(full[2:], fact[2:], strict=True)
    )


def _states(fact: Fact, old: Fact) -> bool:
    """Whether `fact` is a statement of `old`, maybe less fully."""
    return fact.finding == old.finding and (fact.positive or fact.change is not None) and _states_no_more(old, fact)


def _facts_after(entry: Sentence, old: Fact, new: Fact | None) -> tuple[Fact, ...]:
    """What a sentence states if `new` is true instead of `old`."""
    edited = [_edit_fact(fact, old, new) if _states(fact, old) else fact for fact in entry.facts]
    return tuple(fact for fact in edited if fact is not None)


def _can_become(report: AnnotatedReport, old: Fact, new: Fact | None) -> bool:
    """Whether the sentences that were not wholly read let a fact be changed, or do not state it."""
    excerpts = [entry for entry in report.sentences if isinstance(entry, PartiallyParsedSentence)]
    after = [(entry, _facts_after(entry, old, new)) for entry in excerpts]
    return all(facts == entry.facts or substitute_words(entry, facts) is not None for entry, facts in after)


def _has_unparsed_comparison(report: AnnotatedReport) -> bool:
    """Whether an earlier study is spoken of in words that were not read as the change of a finding."""
    return any(
        isinstance(e, PartiallyParsedSentence)
        and e.section in BODY_SECTIONS
        and not e.facts
        and mentions_change(e.text)
        for e in report.sentences
    )


def _edit_fact(fact: Fact, old: Fact, new: Fact | None) -> Fact | None:
    """What becomes of a statement of `old` if `new` is true: it says what it said, as it now is."""
    if new is None:
        return None
    fields = {
        name: getattr(new, name)
        for name in ("location", "severity", "change")
        if getattr(new, name) != getattr(old, name) and (getattr(fact, name) is not None or getattr(old, name) is None)
    }
    return fact._replace(**fields)


def _substitute_word(entry: Sentence, facts: tuple[Fact, ...]) -> str | None:
    """The sentence with one word exchanged, if that makes it state just the facts."""
    swaps = [{"left": "right", "right": "left", "Left": "Right", "Right": "Left"}]
    for one, words in SEVERITY_WORDS.items():
        swaps += [
            {word: other[i]} for d, other in SEVERITY_WORDS.items() if d != one for i, word in enumerate(words[:2])
        ]
    for swap in swaps:
        pattern = r"\b(?:" + "|".join(map(re.escape, swap)) + r")\b"
        text, count = re.subn(pattern, partial(_substitution, swap), entry.text)
        if count and set(sentence_facts(text)) == set(facts):
            return text
    return None


def _substitution(swap: dict[str, str], match: re.Match[str]) -> str:
    return swap[match[0]]


def _other_locations(report: AnnotatedReport, fact: Fact) -> list[str]:
    side = (fact.location or "").split(" ")
    return [
        place
        for place in LOCATIONS[FINDINGS[fact.finding].location_group]
        if place
        and place != fact.location
        and not (place.split(" ")[0] == side[0] and (" " not in place or len(side) == 1))
        and _can_become(report, fact, fact._replace(location=place))
    ]


def _other_severities(report: AnnotatedReport, fact: Fact) -> list[str]:
    others = [degree for degree in SEVERITY_WORDS if degree != fact.severity]
    return [degree for degree in others if _can_become(report, fact, fact._replace(severity=degree))]


def _mirror_location(place: str) -> str:
    swap = {"left": "right", "right": "left"}
    return " ".join(swap.get(word, word) for word in place.split(" "))


def paraphrase(report: AnnotatedReport, rng: Random, share: float = 1.0) -> AnnotatedReport:
    """Say a share of the sentences in other words, and others in another order, section by section; causes no error."""
    sentences: list[Sentence] = []
    for entry in report.sentences:
        if isinstance(entry, PartiallyParsedSentence):
            sentences.append(entry)
        elif entry.facts and rng.random() < share:
            sentences += restate_facts(entry.facts, rng, entry.section)
        elif entry.facts or rng.random() > share / 2:
            sentences.append(entry)
    return reorder(report._replace(sentences=tuple(sentences or report.sentences)), rng, share)


def reorder(report: AnnotatedReport, rng: Random, share: float = 1.0) -> AnnotatedReport:
    """Sentences of a section in another order; causes no error."""
    sentences: list[Sentence] = []
    for _, entries in groupby(report.sentences, key=lambda entry: entry.section):
        own = list(entries)
        free = [entry for entry in own if not isinstance(entry, PartiallyParsedSentence)]
        if rng.random() < share:
            rng.shuffle(free)
        moved = iter(free)
        sentences += [
            entry if isinstance(entry, PartiallyParsedSentence) else next(moved).with_full_stop() for entry in own
        ]
    return report._replace(sentences=tuple(sentences))
