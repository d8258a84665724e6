"""The report grammar: writes facts as sentences and as reports in many styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from radreward.synthesis.composed_sentences import composed_sentence, take_composed
from radreward.synthesis.elaborate_wording import (
    TECHNIQUE_REMARKS,
    by_organ,
    state_sentence,
    take_differentials,
    written_negation,
    written_normal,
    written_sentence,
)
from radreward.synthesis.fact_sampling import is_certain
from radreward.synthesis.noun_phrases import (
    NounPhrase,
    are_both_sides,
    capitalize_first,
    fill_template,
    join_words,
    joint_phrase,
    noun_phrase,
)
from radreward.synthesis.report_prose import add_prose
from radreward.synthesis.report_styles import FrequentChoiceRandom, ReportStyle, apply_style, sample_style
from radreward.text.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, URGENCIES, ancestors, is_related
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
    UNCHANGED_STATEMENTS,
)

_DEFAULT_STYLE = ReportStyle()
_ELABORATE_SHARE = 0.6
"""Share of the sentences with longer wording in elaborate styles."""
_COMPOSED_SHARE = 0.5
"""Share of the normal statements that are composed of a subject and a state."""
_RECOMPOSED_SHARE = 0.25
"""Share of the reworded sentences that become composed ones, if their facts share a detail."""
_STATE_SHARE = 0.25
"""Share of the reworded sentences that become the state of an organ, if there are words for it."""
_WRITTEN_NEGATION_SHARE = 0.3
"""Share of the negations with longer wording in other styles."""
_UNCHANGED_SHARE = 0.2
"""Share of the normal statements that only call a body part unchanged, and so negate nothing."""
MAX_CONCLUSIONS = 5
"""Maximum number of findings that an impression repeats, the most urgent first."""
_NEGATIVES = ("pneumothorax", "effusion", "consolidation", "edema", "fracture", "nodule", "pneumonia", "freeair")
"""Findings that reports often negate."""
_OTHER_NEGATIVES = tuple(
    key for key, finding in GENERATED_FINDINGS.items() if not finding.is_device and key not in _NEGATIVES
)
_NUM_OTHER_NEGATIVES = 3
"""Number of further findings that a report may negate, with the same probability."""


def is_plain_negation(fact: Fact) -> bool:
    """Return True for an absent finding without a change."""
    return fact.polarity == "absent" and not fact.change


def _is_joinable(fact: Fact) -> bool:
    """Return True for a certain finding, changed or not, which a sentence can list with others."""
    return fact.polarity == "present" and (not fact.change or not FINDINGS[fact.finding].is_device)


def templates_of(fact: Fact) -> tuple[str, ...]:
    """Return the sentence templates that can state one fact."""
    is_device = FINDINGS[fact.finding].is_device
    if fact.change:
        return (DEVICE_CHANGE_TEMPLATES if is_device else CHANGE_TEMPLATES)[fact.change]
    if fact.polarity == "absent":
        return ABSENT_TEMPLATES
    if fact.polarity == "uncertain":
        return UNCERTAIN_TEMPLATES
    return DEVICE_TEMPLATES if is_device else PRESENT_TEMPLATES


def fact_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence:
    """Return a sentence that states one fact."""
    phrase = noun_phrase(fact, rng)
    return Sentence(fill_template(rng.choice(templates_of(fact)), phrase), (fact,), section)


def joint_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """Return one sentence for several facts; all must be certain, or all absent without a change.

    Both sides of a finding share its name: "small left and moderate right effusions".
    """
    if facts[0].polarity != "absent":
        phrases = [joint_phrase(group, rng) for group in _group_sides(facts)]
    else:
        phrases = [noun_phrase(fact, rng) for fact in facts]
        names = [phrase.text for phrase in phrases]
        listed = join_words(names, " or " if len(names) < 3 else rng.choice((" or ", ", or ")))
        phrase = NounPhrase(listed, takes_article=False)
        return Sentence(fill_template(rng.choice(ABSENT_TEMPLATES), phrase), tuple(facts), section)
    names = [phrase.with_article for phrase in phrases]
    listed = join_words(names, rng.choice((" and ", " with ", " and ") if len(names) < 3 else (" and ", ", and ")))
    there = "There are {}." if phrases[0].is_plural else "There is {}."
    template = rng.choice((there, there, "{}.", "{} are seen.", "{} noted.", "Findings include {}.", "{} are present."))
    return Sentence(capitalize_first(template.format(fit_case(listed, template))), tuple(facts), section)


def _group_sides(facts: Sequence[Fact]) -> list[tuple[Fact, ...]]:
    """Return facts in groups; two neighbors about both sides of a finding are one group."""
    groups: list[tuple[Fact, ...]] = []
    for fact in facts:
        if groups and len(groups[-1]) == 1 and are_both_sides(groups[-1][0], fact):
            groups[-1] = (groups[-1][0], fact)
        else:
            groups.append((fact,))
    return groups


def fit_case(phrase: str, template: str) -> str:
    """Return a phrase with a capital if the template starts with it."""
    return capitalize_first(phrase) if template.startswith("{") else phrase


def normal_sentence(keys: tuple[str, ...], rng: Random, section: Section = "findings") -> Sentence:
    """Return a normal statement, which negates findings without naming them."""
    if rng.random() < _COMPOSED_SHARE:
        return written_normal(keys, rng, section)
    return Sentence(rng.choice(NORMAL_STATEMENTS[keys]), tuple(Fact(key, "absent") for key in keys), section)


def restate_facts(facts: Sequence[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Return new sentences for the facts of one sentence; negations stay together."""
    keys = tuple(fact.finding for fact in facts)
    all_negated = all(map(is_plain_negation, facts))
    if all_negated and keys in NORMAL_STATEMENTS and rng.random() < 0.8:
        return [normal_sentence(keys, rng, section)]
    can_recompose = not isinstance(rng, FrequentChoiceRandom) and rng.random() < _RECOMPOSED_SHARE
    if can_recompose and (sentence := composed_sentence(facts, rng, section)):
        return [sentence]
    if len(facts) > 1 and (all_negated or all(map(_is_joinable, facts))):
        return [joint_sentence(facts, rng, section)]
    return [_reworded_sentence(fact, rng, section) for fact in facts]


def _reworded_sentence(fact: Fact, rng: Random, section: Section) -> Sentence:
    """Return a sentence for one fact, sometimes as the state of an organ."""
    if not isinstance(rng, FrequentChoiceRandom) and rng.random() < _STATE_SHARE:
        return state_sentence(fact, rng, section) or fact_sentence(fact, rng, section)
    return fact_sentence(fact, rng, section)


def render_facts(
    facts: Sequence[Fact], rng: Random, section: Section, style: ReportStyle = _DEFAULT_STYLE
) -> list[Sentence]:
    """Return sentences for facts, some of which share a sentence."""
    remaining = list(facts)
    composed = take_composed(remaining, rng, section, style.compose_probability) if style.compose_probability else []
    sentences = composed + _separate_sentences(remaining, rng, section, style)
    rng.shuffle(sentences)
    return sentences


def _separate_sentences(facts: Sequence[Fact], rng: Random, section: Section, style: ReportStyle) -> list[Sentence]:
    """Return sentences for facts one by one, or in lists."""
    can_join = _is_joinable if style.num_findings else is_certain
    joins = {key: rng.random() < style.joint_probability for key in dict.fromkeys(fact.finding for fact in facts)}
    joint = [fact for fact in facts if can_join(fact) and joins[fact.finding]]
    single = [fact for fact in facts if not (can_join(fact) and joins[fact.finding])]
    sentences = take_differentials(single, rng, section) if style.is_elaborate else []
    sentences += [_styled_sentence([fact], rng, section, style) for fact in single if not is_plain_negation(fact)]
    negated = [fact for fact in single if is_plain_negation(fact)]
    while negated:
        size = min(len(negated), rng.choice((1, 2, 2, 3, 3, 4)))
        chunk, negated = negated[:size], negated[size:]
        sentences.append(_styled_sentence(chunk, rng, section, style))
    while joint:
        size = min(len(joint), rng.choice((2, 3, 3, 4) if style.num_findings else (1, 2, 2, 3)))
        chunk, joint = joint[:size], joint[size:]
        sentences.append(joint_sentence(chunk, rng, section) if size > 1 else fact_sentence(chunk[0], rng, section))
    return sentences


def _styled_sentence(facts: Sequence[Fact], rng: Random, section: Section, style: ReportStyle) -> Sentence:
    """Return a sentence for one fact, or for absent ones, in the longer wording of an elaborate style."""
    if style.is_elaborate and rng.random() < _ELABORATE_SHARE:
        if is_plain_negation(facts[0]):
            return written_negation(facts, rng, section)
        if sentence := written_sentence(facts[0], rng, section):
            return sentence
    if not is_plain_negation(facts[0]):
        return fact_sentence(facts[0], rng, section)
    is_written = not style.common_findings_only and rng.random() < _WRITTEN_NEGATION_SHARE
    return (written_negation if is_written else joint_sentence)(facts, rng, section)


def _normal_sentences(positive: set[str], rng: Random, section: Section, style: ReportStyle) -> list[Sentence]:
    """Return normal statements and negated findings that do not contradict the positive findings."""
    probability = style.negative_probability

    def is_affected(key: str) -> bool:
        return any(is_related(key, finding) for finding in positive)

    options = [
        keys for keys in NORMAL_STATEMENTS if not any(map(is_affected, keys)) and not _is_implausible(keys, positive)
    ]
    chosen: list[tuple[str, ...]] = []
    for keys in rng.sample(options, k=len(options)):
        if rng.random() < probability and not any(set(keys) & set(other) for other in chosen):
            chosen.append(keys)
    sentences = [
        Sentence(rng.choice(UNCHANGED_STATEMENTS[keys]), (), section)
        if keys in UNCHANGED_STATEMENTS and rng.random() < _UNCHANGED_SHARE
        else normal_sentence(keys, rng, section)
        for keys in chosen
    ]
    negatives = (*_NEGATIVES, *rng.sample(_OTHER_NEGATIVES, k=_NUM_OTHER_NEGATIVES))
    absent = [Fact(key, "absent") for key in negatives if not is_affected(key) and rng.random() < probability]
    return sentences + render_facts(absent, rng, section, style)


def _is_implausible(keys: tuple[str, ...], positive: set[str]) -> bool:
    """Return True if a normal statement is about a region with a positive finding."""
    regions = {FINDINGS[key].region for key in keys}
    return any(_affected_region(finding) in regions for finding in positive)


def _affected_region(key: str) -> str | None:
    """Return the region that a finding makes abnormal, if any; with an enlarged heart, vessels can be normal."""
    finding = FINDINGS[key]
    if finding.region == "heart":
        return {"edema": "lungs", "pericardial": "heart"}.get(ancestors(key)[-1])
    return None if finding.region == "lungs" and finding.urgency == "benign" else finding.region


def render_report(facts: Sequence[Fact], rng: Random, style: ReportStyle | None = None) -> AnnotatedReport:
    """Return a report that states facts and negates some other findings.

    Args:
        facts: Facts to state; absent facts without a change are ignored.
        rng: Source of randomness for all wording.
        style: Style of the report; sampled if None.
    """
    style = style or sample_style(rng)
    stated = [fact for fact in facts if fact.positive or fact.change]
    sentences: list[Sentence] = []
    if style.has_history:
        sentences.append(Sentence(rng.choice(CLINICAL_HISTORIES), (), "indication"))
        if rng.random() < 0.5:
            sentences.append(Sentence(rng.choice(PRIOR_STUDIES), (), "comparison"))
    if style.layout != "impression":
        sentences += _render_findings(stated, rng, style)
    if style.layout != "findings":
        sentences += _render_impression(stated, rng, style)
    report = AnnotatedReport(tuple(sentences), style.has_headings)
    return apply_style(add_prose(report, rng) if style.has_prose else report, style)


def _render_findings(stated: list[Fact], rng: Random, style: ReportStyle) -> list[Sentence]:
    positive = {fact.finding for fact in stated}
    devices = [fact for fact in stated if FINDINGS[fact.finding].is_device]
    all_unchanged = len(devices) > 1 and all(fact.change == "stable" for fact in devices)
    sentences = render_facts(stated, rng, "findings", style)
    sentences += _normal_sentences(positive, rng, "findings", style)
    if all_unchanged and rng.random() < 0.5:
        sentences.append(Sentence(rng.choice(UNCHANGED_DEVICE_STATEMENTS), ()))
    rng.shuffle(sentences)
    sentences = by_organ(sentences) if style.is_elaborate else sentences
    return _with_filler(sentences or [Sentence(rng.choice(ALL_CLEAR_STATEMENTS), ())], style, rng)


def _render_impression(stated: list[Fact], rng: Random, style: ReportStyle) -> list[Sentence]:
    relevant = [fact for fact in stated if FINDINGS[fact.finding].urgency != "benign"]
    is_only_section = style.layout == "impression"
    concluded = stated if is_only_section else sorted(relevant, key=_urgency_rank)[:MAX_CONCLUSIONS]
    sentences = render_facts(concluded, rng, "impression", style)
    sentences.sort(key=lambda sentence: min(map(_urgency_rank, sentence.facts)))
    if not relevant or not sentences:
        sentences.insert(0, Sentence(rng.choice(ALL_CLEAR_STATEMENTS), (), "impression"))
    elif is_only_section and rng.random() < 0.4:
        positive = {fact.finding for fact in stated}
        sentences += _normal_sentences(positive, rng, "impression", style)
    return _with_filler(sentences, replace(style, filler_probability=style.filler_probability / 2), rng)


def _urgency_rank(fact: Fact) -> int:
    """Return the rank in an impression: the most urgent findings first, devices last."""
    finding = FINDINGS[fact.finding]
    return len(URGENCIES) if finding.is_device and not finding.is_significant else URGENCIES.index(finding.urgency)


def _with_filler(sentences: list[Sentence], style: ReportStyle, rng: Random) -> list[Sentence]:
    """Return sentences, perhaps with one that states no finding; a remark on technique comes first."""
    if not sentences or rng.random() >= style.filler_probability:
        return sentences
    section = sentences[0].section
    if style.is_elaborate and rng.random() < 0.8:
        return [Sentence(rng.choice(TECHNIQUE_REMARKS), (), section), *sentences]
    sentences.insert(rng.randrange(len(sentences) + 1), Sentence(rng.choice(FILLER_SENTENCES), (), section))
    return sentences
