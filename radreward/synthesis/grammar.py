"""From facts to text: sentences, and reports in many styles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from radreward.synthesis.noun_phrases import Phrase, capital, fill, noun_phrase
from radreward.synthesis.report_styles import Style, sample_style
from radreward.text.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.text.findings import FINDINGS, URGENCIES, ancestry
from radreward.text.sentence_templates import (
    ABSENT,
    ALL_CLEAR,
    CHANGED,
    CHANGED_DEVICE,
    DEVICE,
    FILLER,
    HISTORY,
    NORMAL,
    PLAIN,
    PRIOR,
    STILL,
    UNCERTAIN,
)


def sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence:
    """A sentence that states one fact."""
    phrase = noun_phrase(fact, rng)
    device = FINDINGS[fact.finding].region == "devices"
    if fact.change:
        text = fill(rng.choice((CHANGED_DEVICE if device else CHANGED)[fact.change]), phrase)
    elif fact.polarity == "absent":
        text = fill(rng.choice(ABSENT), phrase)
    elif fact.polarity == "uncertain":
        text = fill(rng.choice(UNCERTAIN), phrase)
    else:
        text = fill(rng.choice(DEVICE if device else PLAIN), phrase)
    return Sentence(text, (fact,), section)


def joint_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """One sentence for several facts that are present and not compared, or for several that are absent."""
    phrases = [noun_phrase(fact, rng) for fact in facts]
    if facts[0].polarity == "absent":
        names = [phrase.words for phrase in phrases]
        last = " or " if len(names) < 3 else rng.choice((" or ", ", or "))
        listed = ", ".join(names[:-1]) + (last if len(names) > 1 else "") + names[-1]
        return Sentence(fill(rng.choice(ABSENT), Phrase(listed, article=False)), tuple(facts), section)
    full = [phrase.full for phrase in phrases]
    link = rng.choice((" and ", " with ", " and ") if len(full) < 3 else (" and ", ", and "))
    listed = ", ".join(full[:-1]) + (link if len(full) > 1 else "") + full[-1]
    there = "There are {}." if phrases[0].plural else "There is {}."
    template = rng.choice((there, there, "{}.", "{} are seen.", "{} noted.", "Findings include {}.", "{} are present."))
    return Sentence(capital(template.format(listed if template[0] != "{" else capital(listed))), tuple(facts), section)


def restate(facts: Sequence[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Other sentences for the facts of one: denials stay together, normal statements stay such."""
    keys = tuple(fact.finding for fact in facts)
    denials = all(fact.polarity == "absent" and not fact.change for fact in facts)
    if denials and keys in NORMAL and rng.random() < 0.8:
        return [normal_sentence(keys, rng, section)]
    if len(facts) > 1 and (denials or all(fact.polarity == "present" and not fact.change for fact in facts)):
        return [joint_sentence(facts, rng, section)]
    return [sentence(fact, rng, section) for fact in facts]


def normal_sentence(keys: tuple[str, ...], rng: Random, section: Section = "findings") -> Sentence:
    """A normal statement, which denies findings without naming them."""
    return Sentence(rng.choice(NORMAL[keys]), tuple(Fact(key, "absent") for key in keys), section)


def body(facts: Sequence[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Sentences for facts: some alone, some together."""
    joined: list[Fact] = []
    apart: list[Fact] = []
    for fact in facts:
        simple = fact.polarity == "present" and fact.change is None
        (joined if simple and rng.random() < 0.3 else apart).append(fact)
    sentences = [sentence(fact, rng, section) for fact in apart if fact.polarity != "absent" or fact.change]
    denied = [fact for fact in apart if fact.polarity == "absent" and not fact.change]
    while denied:
        size = min(len(denied), rng.choice((1, 2, 2, 3, 3, 4)))
        chunk, denied = denied[:size], denied[size:]
        sentences.append(joint_sentence(chunk, rng, section))
    while joined:
        size = min(len(joined), rng.choice((1, 2, 2, 3)))
        chunk, joined = joined[:size], joined[size:]
        sentences.append(sentence(chunk[0], rng, section) if len(chunk) == 1 else joint_sentence(chunk, rng, section))
    rng.shuffle(sentences)
    return sentences


def _negatives(positive: set[str], rng: Random, section: Section, share: float) -> list[Sentence]:
    """Normal statements and pertinent negatives that contradict nothing that is said."""
    taken = {key for finding in positive for key in ancestry(finding)}
    free = [
        keys
        for keys in NORMAL
        if not any(_touched(key, taken, positive) for key in keys) and not _clouded(keys, positive)
    ]
    chosen: list[tuple[str, ...]] = []
    for keys in rng.sample(free, k=len(free)):
        if rng.random() < share and not any(set(keys) & set(other) for other in chosen):
            chosen.append(keys)
    sentences = [normal_sentence(keys, rng, section) for keys in chosen]
    candidates = ["pneumothorax", "effusion", "consolidation", "edema", "fracture", "nodule", "pneumonia", "freeair"]
    denied = [Fact(key, "absent") for key in candidates if not _touched(key, taken, positive) and rng.random() < share]
    return sentences + body(denied, rng, section)


def _clouded(keys: tuple[str, ...], positive: set[str]) -> bool:
    """Whether a normal statement would sound wrong beside what is found in the same region."""
    regions = {FINDINGS[key].region for key in keys}
    return any(_shows_in(finding) in regions for finding in positive)


def _shows_in(key: str) -> str | None:
    """The region that a finding keeps from being called normal; a big heart leaves the vessels free to be."""
    finding = FINDINGS[key]
    if finding.region == "heart":
        return {"edema": "lungs", "pericardial": "heart"}.get(ancestry(key)[-1])
    return None if finding.region == "lungs" and finding.urgency == "benign" else finding.region


def _touched(key: str, taken: set[str], positive: set[str]) -> bool:
    return key in taken or bool(positive & set(ancestry(key)))


def render(facts: Sequence[Fact], rng: Random, style: Style | None = None) -> AnnotatedReport:
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
    if style.history:
        sentences.append(Sentence(rng.choice(HISTORY), (), "indication"))
        if rng.random() < 0.5:
            sentences.append(Sentence(rng.choice(PRIOR), (), "comparison"))
    devices = [fact for fact in said if FINDINGS[fact.finding].region == "devices"]
    still = len(devices) > 1 and all(fact.change == "stable" for fact in devices)
    if style.layout != "impression":
        found = body(said, rng, "findings") + _negatives(positive, rng, "findings", style.negatives)
        if still and rng.random() < 0.5:
            found.append(Sentence(rng.choice(STILL), ()))
        rng.shuffle(found)
        sentences += _with_filler(found or [Sentence(rng.choice(ALL_CLEAR), ())], style.filler, rng)
    if style.layout != "findings":
        matters = [fact for fact in said if FINDINGS[fact.finding].urgency != "benign"]
        restated = said if style.layout == "impression" else sorted(matters, key=_urgency)[:MOST_CONCLUSIONS]
        found = sorted(body(restated, rng, "impression"), key=lambda entry: min(map(_urgency, entry.facts)))
        if not matters or (not found):
            found.insert(0, Sentence(rng.choice(ALL_CLEAR), (), "impression"))
        elif style.layout == "impression" and rng.random() < 0.4:
            found += _negatives(positive, rng, "impression", style.negatives)
        sentences += _with_filler(found, style.filler / 2, rng)
    return write(AnnotatedReport(tuple(sentences), style.headed), style)


MOST_CONCLUSIONS = 5
"""An impression that follows findings keeps to the most urgent."""


def _urgency(fact: Fact) -> int:
    """Rank in an impression: what matters most first, devices last."""
    finding = FINDINGS[fact.finding]
    return len(URGENCIES) if finding.region == "devices" and not finding.matters else URGENCIES.index(finding.urgency)


def _with_filler(sentences: list[Sentence], share: float, rng: Random) -> list[Sentence]:
    if sentences and rng.random() < share:
        place = rng.randrange(len(sentences) + 1)
        sentences = [*sentences[:place], Sentence(rng.choice(FILLER), (), sentences[0].section), *sentences[place:]]
    return sentences


def write(report: AnnotatedReport, style: Style) -> AnnotatedReport:
    """Put on what belongs to the whole text: numbers of an impression, lower case."""
    number = 0
    written = []
    for entry in report.sentences:
        text = entry.text
        if style.numbered and entry.section == "impression":
            number += 1
            text = f"{number}. {text}"
        if style.lower:
            text = re.sub(r"([.,])(?=\s|$)", r" \1", text.lower())
        written.append(entry._replace(text=text))
    return report._replace(sentences=tuple(written))
