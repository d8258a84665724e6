"""Wording of report generators: longer sentences, states of organs, signs with their interpretation, remarks."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from radreward.synthesis.fact_sampling import DIFFERENTIALS
from radreward.synthesis.noun_phrases import NounPhrase, fill_template, join_words, noun_phrase
from radreward.text.facts import Fact, Section, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.severity import SEVERITY_ADVERBS

PRESENT_WORDINGS = (
    "There appears to be {a}.",
    "There is {a}, best appreciated on the frontal view.",
    "On the current examination, {a} is identified.",
    "As seen on these images, there is {a}.",
    "There is again evidence of {n}, as described.",
    "The current study demonstrates {a}, as described above.",
    "{A} is present, and attention on follow up imaging is recommended.",
    "The images show {a}, seen on both views.",
)
UNCERTAIN_WORDINGS = (
    "There is probably {a}, although overlying structures limit the evaluation.",
    "{A} cannot be excluded on the basis of this single view.",
    "Findings are suspicious for {n}, and a dedicated study may be helpful.",
    "{A} is most likely present, but evaluation is limited.",
    "There may be {a}, which would be better assessed with CT.",
    "{A} is suspected, although it may be due to superimposed shadows.",
    "In the appropriate clinical setting, the appearance could represent {n}.",
    "Possible {n}, for which short interval follow up is recommended.",
)
ABSENT_WORDINGS = (
    "There is no {n} on the current examination.",
    "Allowing for differences in technique, no {n} is identified.",
    "No {n} is seen on this examination.",
    "There is no radiographic evidence of {n} at this time.",
    "The study shows no evidence of {n}, as far as can be seen.",
)
DIFFERENTIAL_WORDINGS = (
    "This may represent {first} versus {second}.",
    "The differential includes {first} and {second}, in the appropriate clinical setting.",
    "Findings may reflect {first}, although {second} is possible.",
    "Findings could represent {first} or {second}.",
)
SIGN_WORDINGS = (
    "There is {a}, which may represent {interpretation}.",
    "{A} is seen, suspicious for {interpretation} in the appropriate clinical setting.",
    "{A} is noted, concerning for {interpretation}.",
    "There is {a}, which likely represents {interpretation}.",
    "{A}, possibly reflecting {interpretation}.",
)
SIGNS = {"pneumonia": "opacity", "aspiration": "consolidation", "contusion": "opacity", "fibrosis": "interstitial"}
"""Sign by the finding that interprets it; the sign is the more general finding."""
STATES: dict[str, tuple[str, ...]] = {
    "cardiomegaly": (
        "The heart is {adverb}enlarged.",
        "The cardiac silhouette is {adverb}enlarged.",
        "Heart size is {adverb}increased.",
    ),
    "congestion": ("The pulmonary vessels are {adverb}engorged.", "The pulmonary vasculature is {adverb}congested."),
    "hyperinflation": ("The lungs are {adverb}hyperinflated.", "Both lungs are {adverb}overexpanded."),
    "hypoinflation": ("The lungs are {adverb}underinflated.", "The lung volumes are low."),
    "emphysema": ("The lungs are {adverb}emphysematous.",),
    "interstitial": ("The interstitial markings are {adverb}increased.", "The interstitium is {adverb}prominent."),
    "tortuous": ("The thoracic aorta is {adverb}tortuous.", "The aorta is {adverb}ectatic."),
    "aorticcalc": ("The aortic arch is {adverb}calcified.", "The aortic knob is {adverb}calcified."),
    "widemed": ("The mediastinum is {adverb}widened.", "The mediastinal contour is {adverb}widened."),
    "osteopenia": ("The bones are {adverb}osteopenic.", "The bones are {adverb}demineralized."),
    "elevdia": ("The {side} hemidiaphragm is {adverb}elevated.", "The {side} hemidiaphragm is {adverb}raised."),
    "blunting": ("The {side} costophrenic angle is {adverb}blunted.", "The {side} costophrenic sulcus is blunted."),
    "hilar": ("The {side} hilum is {adverb}prominent.", "The {side} hilum appears {adverb}enlarged."),
}
"""Findings as the state of an organ; a wording with a side needs one, and one without a degree has none."""
TECHNIQUE_REMARKS = (
    "A single portable view of the chest was obtained.",
    "Two views of the chest were reviewed.",
    "The study is limited by portable technique and patient rotation.",
    "Evaluation is limited by the position of the patient.",
    "The image is slightly underpenetrated, which limits the evaluation of detail.",
    "The lung apices are not entirely included on the image.",
    "Overlying external material obscures some detail.",
    "Motion degrades the image quality.",
    "No prior examination is available for comparison.",
    "The patient is slightly rotated, which limits the evaluation.",
    "Semi upright frontal view of the chest was performed.",
    "The examination was performed at the bedside in an upright position.",
)
REGION_ORDER = ("devices", "lungs", "pleura", "heart", "mediastinum", "abdomen", "bones")
"""Order of the organs in a report written organ by organ."""


def written_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a longer sentence for one fact, or None if there is no wording for it."""
    if fact.change:
        return None
    if fact.polarity == "uncertain" and fact.finding in SIGNS and rng.random() < 0.5:
        return _sign_sentence(fact, rng, section)
    has_state = fact.polarity == "present" and fact.finding in STATES and rng.random() < 0.7
    if has_state and (sentence := _state_sentence(fact, rng, section)):
        return sentence
    wordings = UNCERTAIN_WORDINGS if fact.polarity == "uncertain" else PRESENT_WORDINGS
    return Sentence(fill_template(rng.choice(wordings), noun_phrase(fact, rng)), (fact,), section)


def written_negation(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """Return a longer sentence for absent findings."""
    names = [noun_phrase(fact, rng).text for fact in facts]
    phrase = NounPhrase(join_words(names, rng.choice((" or ", ", or ")) if len(names) > 2 else " or "), False)
    return Sentence(fill_template(rng.choice(ABSENT_WORDINGS), phrase), tuple(facts), section)


def take_differentials(facts: list[Fact], rng: Random, section: Section) -> list[Sentence]:
    """Remove pairs of suspected findings that interpret the same appearance, and return their sentences."""
    sentences = []
    for first in [fact for fact in facts if fact.polarity == "uncertain" and fact.finding in DIFFERENTIALS]:
        other = Fact(DIFFERENTIALS[first.finding], "uncertain", first.location)
        if first in facts and other in facts:
            names = {"first": noun_phrase(first, rng).with_article, "second": noun_phrase(other, rng).with_article}
            sentences.append(Sentence(rng.choice(DIFFERENTIAL_WORDINGS).format_map(names), (first, other), section))
            facts.remove(first)
            facts.remove(other)
    return sentences


def _sign_sentence(fact: Fact, rng: Random, section: Section) -> Sentence:
    """Return a sentence that states the sign of a suspected finding with its details, and then names it."""
    sign = FINDINGS[SIGNS[fact.finding]]
    location = fact.location if fact.location in sign.locations else None
    stated = Fact(sign.key, "present", location, fact.severity)
    suspected = fact._replace(location=None if location else fact.location, severity=None)
    template = rng.choice(SIGN_WORDINGS)
    text = template.replace("{interpretation}", noun_phrase(suspected, rng).text)
    return Sentence(fill_template(text, noun_phrase(stated, rng)), (stated, fact), section)


def _state_sentence(fact: Fact, rng: Random, section: Section) -> Sentence | None:
    fitting = [
        template
        for template in STATES[fact.finding]
        if ("{side}" in template) == (fact.location in ("left", "right"))
        and (fact.severity is None or "{adverb}" in template)
        and (fact.location is None or "{side}" in template)
    ]
    if not fitting:
        return None
    adverb = f"{rng.choice(SEVERITY_ADVERBS[fact.severity])} " if fact.severity else ""
    return Sentence(rng.choice(fitting).format(adverb=adverb, side=fact.location or ""), (fact,), section)


def by_organ(sentences: list[Sentence]) -> list[Sentence]:
    """Return the sentences organ by organ, those without findings first."""

    def organ(sentence: Sentence) -> int:
        return REGION_ORDER.index(FINDINGS[sentence.facts[0].finding].region) if sentence.facts else -1

    return sorted(sentences, key=organ)
