"""Wording of report generators: longer sentences, states of organs, interpreted signs and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from random import Random

from radreward.synthesis.fact_sampling import DIFFERENTIALS
from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first, fill_template, join_words, noun_phrase
from radreward.text.facts import Fact, Section, Sentence
from radreward.text.finding_states import STATES
from radreward.text.findings import FINDINGS
from radreward.text.severity import SEVERITY_ADVERBS


def _read_wordings() -> dict[str, dict[tuple[str, ...], tuple[str, ...]]]:
    """Return the tables of elaborate_wording.txt by name; a table has wordings by keys."""
    tables: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {}
    text = resources.files("radreward.synthesis").joinpath("elaborate_wording.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            head, *wordings = line.split(" | ")
            table, *keys = head.split()
            tables.setdefault(table, {})[tuple(keys)] = tuple(wordings)
    return tables


_WORDINGS = _read_wordings()
NORMAL_SUBJECTS = _WORDINGS["subject"]
"""Subjects with a verb of normal statements, by the findings that they negate."""
NORMAL_STATES = _WORDINGS["normal"][()]
TECHNIQUE_REMARKS = _WORDINGS["remark"][()]
SIGNS = {"pneumonia": "opacity", "aspiration": "consolidation", "contusion": "opacity", "fibrosis": "interstitial"}
"""Signs by the finding that interprets them; a sign is the more general finding."""
REGION_ORDER = ("devices", "lungs", "pleura", "heart", "mediastinum", "abdomen", "bones")
"""Order of the organs in a report written organ by organ."""


def written_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a longer sentence for one fact, or None if the fact has a change."""
    if fact.change:
        return None
    if fact.polarity == "uncertain" and fact.finding in SIGNS and rng.random() < 0.5:
        return _sign_sentence(fact, rng, section)
    if rng.random() < 0.7 and (sentence := state_sentence(fact, rng, section)):
        return sentence
    wordings = _WORDINGS["uncertain" if fact.polarity == "uncertain" else "present"][()]
    return Sentence(fill_template(rng.choice(wordings), noun_phrase(fact, rng)), (fact,), section)


def written_negation(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """Return a longer sentence for absent findings."""
    names = [noun_phrase(fact, rng).text for fact in facts]
    phrase = NounPhrase(join_words(names, rng.choice((" or ", ", or ")) if len(names) > 2 else " or "), False)
    regions = {FINDINGS[fact.finding].region for fact in facts}
    absent = _WORDINGS["absent"]
    of_region = absent.get((regions.pop(),), ()) if len(regions) == 1 else ()
    wordings = of_region if of_region and rng.random() < 0.4 else absent[()]
    return Sentence(fill_template(rng.choice(wordings), phrase), tuple(facts), section)


def written_normal(keys: tuple[str, ...], rng: Random, section: Section = "findings") -> Sentence:
    """Return a normal statement about a body part, composed of subject and state."""
    states = rng.choice((NORMAL_STATES, _WORDINGS["clear"].get(keys, NORMAL_STATES)))
    text = f"{rng.choice(NORMAL_SUBJECTS[keys])} {rng.choice(states)}."
    return Sentence(text, tuple(Fact(key, "absent") for key in keys), section)


def take_differentials(facts: list[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Remove pairs of uncertain findings with the same appearance from the facts, and return their sentences."""
    sentences = []
    for first in [fact for fact in facts if fact.polarity == "uncertain" and fact.finding in DIFFERENTIALS]:
        other = Fact(DIFFERENTIALS[first.finding], "uncertain", first.location)
        if first in facts and other in facts:
            names = {"first": noun_phrase(first, rng).with_article, "second": noun_phrase(other, rng).with_article}
            sentences.append(
                Sentence(rng.choice(_WORDINGS["differential"][()]).format_map(names), (first, other), section)
            )
            facts.remove(first)
            facts.remove(other)
    return sentences


def _sign_sentence(fact: Fact, rng: Random, section: Section) -> Sentence:
    """Return a sentence that states the sign of an uncertain finding with its details, and then the finding."""
    sign = FINDINGS[SIGNS[fact.finding]]
    location = fact.location if fact.location in sign.locations else None
    stated = Fact(sign.key, "present", location, fact.severity)
    suspected = fact._replace(location=None if location else fact.location, severity=None)
    template = rng.choice(_WORDINGS["sign"][()])
    text = template.replace("{interpretation}", noun_phrase(suspected, rng).text)
    return Sentence(fill_template(text, noun_phrase(stated, rng)), (stated, fact), section)


def state_sentence(fact: Fact, rng: Random, section: Section) -> Sentence | None:
    """Return a certain finding without change as the state of an organ, or None if there are no words for it."""
    if fact.polarity != "present" or fact.change or fact.size:
        return None
    fitting = [
        template
        for template in STATES.get(fact.finding, ())
        if ("{side}" in template) == (fact.location in ("left", "right"))
        and (fact.severity is None or "{adverb}" in template)
        and (fact.location is None or "{side}" in template)
    ]
    if not fitting:
        return None
    adverb = f"{rng.choice(SEVERITY_ADVERBS[fact.severity])} " if fact.severity else ""
    text = rng.choice(fitting).format(adverb=adverb, side=fact.location or "")
    return Sentence(capitalize_first(text), (fact,), section)


def by_organ(sentences: list[Sentence]) -> list[Sentence]:
    """Return the sentences organ by organ, those without findings first."""

    def organ(sentence: Sentence) -> int:
        return REGION_ORDER.index(FINDINGS[sentence.facts[0].finding].region) if sentence.facts else -1

    return sorted(sentences, key=organ)
