"""From facts to text: sentences, and reports in many styles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first, fill_template, noun_phrase
from radreward.synthesis.report_styles import ReportStyle, sample_style
from radreward.text.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.text.findings import FINDINGS, URGENCIES, ancestors
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    ALL_CLEAR_STATEMENTS,
    CHANGE_TEMPLATES,
    CLINICAL_HISTORIES,
    DEVICE_CHANGE_TEMPLATES,
    DEVICE_TEMPLATES,
    FILLER_SENTENCES,
    NORMAL_STATEMENTS,
    PRESENT_TEMPLATES,
    PRIOR_STUDIES,
    UNCERTAIN_TEMPLATES,
    UNCHANGED_DEVICE_STATEMENTS,
)


def fact_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence:
    """A sentence that states one fact."""
    phrase = noun_phrase(fact, rng)
    device = FINDINGS[fact.finding].region == "devices"
    if fact.change:
        text = fill_template(rng.choice((DEVICE_CHANGE_TEMPLATES if device else CHANGE_TEMPLATES)[fact.change]), phrase)
    elif fact.polarity == "absent":
        text = fill_template(rng.choice(ABSENT_TEMPLATES), phrase)
    elif fact.polarity == "uncertain":
        text = fill_template(rng.choice(UNCERTAIN_TEMPLATES), phrase)
    else:
        text = fill_template(rng.choice(DEVICE_TEMPLATES if device else PRESENT_TEMPLATES), phrase)
    return Sentence(text, (fact,), section)


def joint_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """One sentence for several facts that are present and not compared, or for several that are absent."""
    phrases = [noun_phrase(fact, rng) for fact in facts]
    if facts[0].polarity == "absent":
        names = [phrase.text for phrase in phrases]
        last = " or " if len(names) < 3 else rng.choice((" or ", ", or "))
        listed = ", ".join(names[:-1]) + (last if len(names) > 1 else "") + names[-1]
        return Sentence(
            fill_template(rng.choice(ABSENT_TEMPLATES), NounPhrase(listed, takes_article=False)), tuple(facts), section
        )
    full = [phrase.with_article for phrase in phrases]
    link = rng.choice((" and ", " with ", " and ") if len(full) < 3 else (" and ", ", and "))
    listed = ", ".join(full[:-1]) + (link if len(full) > 1 else "") + full[-1]
    there = "There are {}." if phrases[0].is_plural else "There is {}."
    template = rng.choice((there, there, "{}.", "{} are seen.", "{} noted.", "Findings include {}.", "{} are present."))
    return Sentence(
        capitalize_first(template.format(listed if template[0] != "{" else capitalize_first(listed))),
        tuple(facts),
        section,
    )


def restate_facts(facts: Sequence[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Other sentences for the facts of one: denials stay together, normal statements stay such."""
    keys = tuple(fact.finding for fact in facts)
    denials = all(fact.polarity == "absent" and not fact.change for fact in facts)
    if denials and keys in NORMAL_STATEMENTS and rng.random() < 0.8:
        return [normal_sentence(keys, rng, section)]
    if len(facts) > 1 and (denials or all(fact.polarity == "present" and not fact.change for fact in facts)):
        return [joint_sentence(facts, rng, section)]
    return [fact_sentence(fact, rng, section) for fact in facts]


def normal_sentence(keys: tuple[str, ...], rng: Random, section: Section = "findings") -> Sentence:
    """A normal statement, which denies findings without naming them."""
    return Sentence(rng.choice(NORMAL_STATEMENTS[keys]), tuple(Fact(key, "absent") for key in keys), section)


def render_facts(facts: Sequence[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Sentences for facts: some alone, some together."""
    joined: list[Fact] = []
    apart: list[Fact] = []
    for fact in facts:
        simple = fact.polarity == "present" and fact.change is None
        (joined if simple and rng.random() < 0.3 else apart).append(fact)
    sentences = [fact_sentence(fact, rng, section) for fact in apart if fact.polarity != "absent" or fact.change]
    denied = [fact for fact in apart if fact.polarity == "absent" and not fact.change]
    while denied:
        size = min(len(denied), rng.choice((1, 2, 2, 3, 3, 4)))
        chunk, denied = denied[:size], denied[size:]
        sentences.append(joint_sentence(chunk, rng, section))
    while joined:
        size = min(len(joined), rng.choice((1, 2, 2, 3)))
        chunk, joined = joined[:size], joined[size:]
        sentences.append(
            fact_sentence(chunk[0], rng, section) if len(chunk) == 1 else joint_sentence(chunk, rng, section)
        )
    rng.shuffle(sentences)
    return sentences


def _normal_sentences(positive: set[str], rng: Random, section: Section, probability: float) -> list[Sentence]:
    """Normal statements and pertinent negatives that contradict nothing that is said."""
    taken = {key for finding in positive for key in ancestors(finding)}
    free = [
        keys
        for keys in NORMAL_STATEMENTS
        if not any(_is_affected(key, taken, positive) for key in keys) and not _is_implausible(keys, positive)
    ]
    chosen: list[tuple[str, ...]] = []
    for keys in rng.sample(free, k=len(free)):
        if rng.random() < probability and not any(set(keys) & set(other) for other in chosen):
            chosen.append(keys)
    sentences = [normal_sentence(keys, rng, section) for keys in chosen]
    candidates = ["pneumothorax", "effusion", "consolidation", "edema", "fracture", "nodule", "pneumonia", "freeair"]
    denied = [
        Fact(key, "absent")
        for key in candidates
        if not _is_affected(key, taken, positive) and rng.random() < probability
    ]
    return sentences + render_facts(denied, rng, section)


def _is_implausible(keys: tuple[str, ...], positive: set[str]) -> bool:
    """Whether a normal statement would sound wrong beside what is found in the same region."""
    regions = {FINDINGS[key].region for key in keys}
    return any(_affected_region(finding) in regions for finding in positive)


def _affected_region(key: str) -> str | None:
    """The region that a finding keeps from being called normal; a big heart leaves the vessels free to be."""
    finding = FINDINGS[key]
    if finding.region == "heart":
        return {"edema": "lungs", "pericardial": "heart"}.get(ancestors(key)[-1])
    return None if finding.region == "lungs" and finding.urgency == "benign" else finding.region


def _is_affected(key: str, taken: set[str], positive: set[str]) -> bool:
    return key in taken or bool(positive & set(ancestors(key)))


def render_report(facts: Sequence[Fact], rng: Random, style: ReportStyle | None = None) -> AnnotatedReport:
    """A report that states the facts, with fitting negatives, in a style.

    Args:
        facts: What is to be said; absent facts without a change are left to the negatives.
        rng: Decides all wording.
        style: How; sampled where nothing is given.
    """
    style = style or sample_style(rng)
    said = [fact for fact in facts if fact.positive or fact.change]
    positive = {fact.finding for fact in said}
    sentences: list[Sentence] = []
    if style.has_history:
        sentences.append(Sentence(rng.choice(CLINICAL_HISTORIES), (), "indication"))
        if rng.random() < 0.5:
            sentences.append(Sentence(rng.choice(PRIOR_STUDIES), (), "comparison"))
    devices = [fact for fact in said if FINDINGS[fact.finding].region == "devices"]
    still = len(devices) > 1 and all(fact.change == "stable" for fact in devices)
    if style.layout != "impression":
        found = render_facts(said, rng, "findings") + _normal_sentences(
            positive, rng, "findings", style.negative_probability
        )
        if still and rng.random() < 0.5:
            found.append(Sentence(rng.choice(UNCHANGED_DEVICE_STATEMENTS), ()))
        rng.shuffle(found)
        sentences += _with_filler(
            found or [Sentence(rng.choice(ALL_CLEAR_STATEMENTS), ())], style.filler_probability, rng
        )
    if style.layout != "findings":
        matters = [fact for fact in said if FINDINGS[fact.finding].urgency != "benign"]
        restated = said if style.layout == "impression" else sorted(matters, key=_urgency_rank)[:MAX_CONCLUSIONS]
        found = sorted(
            render_facts(restated, rng, "impression"), key=lambda entry: min(map(_urgency_rank, entry.facts))
        )
        if not matters or (not found):
            found.insert(0, Sentence(rng.choice(ALL_CLEAR_STATEMENTS), (), "impression"))
        elif style.layout == "impression" and rng.random() < 0.4:
            found += _normal_sentences(positive, rng, "impression", style.negative_probability)
        sentences += _with_filler(found, style.filler_probability / 2, rng)
    return apply_style(AnnotatedReport(tuple(sentences), style.has_headings), style)


MAX_CONCLUSIONS = 5
"""An impression that follows findings keeps to the most urgent."""


def _urgency_rank(fact: Fact) -> int:
    """Rank in an impression: what matters most first, devices last."""
    finding = FINDINGS[fact.finding]
    return (
        len(URGENCIES)
        if finding.region == "devices" and not finding.is_significant
        else URGENCIES.index(finding.urgency)
    )


def _with_filler(sentences: list[Sentence], share: float, rng: Random) -> list[Sentence]:
    if sentences and rng.random() < share:
        place = rng.randrange(len(sentences) + 1)
        sentences = [
            *sentences[:place],
            Sentence(rng.choice(FILLER_SENTENCES), (), sentences[0].section),
            *sentences[place:],
        ]
    return sentences


def apply_style(report: AnnotatedReport, style: ReportStyle) -> AnnotatedReport:
    """Put on what belongs to the whole text: numbers of an impression, lower case."""
    number = 0
    written = []
    for entry in report.sentences:
        text = entry.text
        if style.number_items and entry.section == "impression":
            number += 1
            text = f"{number}. {text}"
        if style.lowercase:
            text = re.sub(r"([.,])(?=\s|$)", r" \1", text.lower())
        written.append(entry._replace(text=text))
    return report._replace(sentences=tuple(written))
