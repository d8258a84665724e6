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
    "{A} is present, with attention on follow up imaging.",
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
    "The chest is free of {n}.",
    "Without evidence of {n}.",
    "There are no findings to suggest {n}.",
    "There is no suggestion of {n}.",
    "No typical findings of {n}.",
    "No significant {n} is seen.",
    "There is no obvious {n}.",
    "No {n} is demonstrated on these images.",
    "No definite {n} is identified.",
    "No acute {n} is seen.",
    "The examination is negative for {n}.",
)
ABSENT_REGION_WORDINGS = {
    "lungs": (
        "The lungs are free of {n}.",
        "The lungs are clear of {n}.",
        "The lungs are without {n}.",
        "The lungs are free of focal {n}.",
        "The lungs show no {n}.",
        "No focal {n} is seen in either lung.",
        "There is no focal {n}.",
    ),
    "pleura": (
        "There is no large {n}.",
        "No large {n} is seen.",
        "The pleural spaces are free of {n}.",
        "No sizable {n} is identified.",
    ),
    "bones": ("No acute displaced {n} is seen.", "No displaced {n} is identified.", "There is no acute {n}."),
}
"""Further wordings for absent findings of one region."""
NORMAL_SUBJECTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("opacity", "consolidation"): ("The lungs are", "Both lungs are", "The lungs remain", "The lungs appear"),
    ("cardiomegaly",): ("The heart is", "Heart size is", "The cardiac contour is", "The cardiac silhouette appears"),
    ("cardiomegaly", "widemed"): (
        *("The heart and mediastinum are", "Cardiac and mediastinal contours are", "Cardiomediastinal contours appear"),
        *("Heart size and mediastinal contours appear", "The cardiomediastinal silhouette is"),
    ),
    ("adenopathy", "widemed"): (
        "The mediastinal and hilar contours are",
        "The mediastinum and hila appear",
        "Hilar and mediastinal contours are",
    ),
    ("effusion",): ("The costophrenic angles are", "Both costophrenic angles are", "The costophrenic sulci appear"),
    ("effusion", "pneumothorax"): ("The pleural surfaces appear", "The pleura are", "The pleura appear"),
    ("edema", "congestion"): ("The pulmonary vasculature is", "Pulmonary vascularity appears", "The vasculature is"),
    ("fracture",): (
        "The osseous structures are",
        "The visualized bones appear",
        "The bony structures are",
        "Skeletal structures are",
    ),
    ("freeair",): ("The upper abdomen is", "The visualized abdomen appears"),
}
"""Subjects with a verb of normal statements, by the findings that they negate."""
NORMAL_STATES = ("normal", "unremarkable", "within normal limits", "grossly normal", "grossly unremarkable")
CLEAR_STATES = {
    ("opacity", "consolidation"): ("clear", "grossly clear", "well expanded and clear", "clear bilaterally"),
    ("effusion",): ("sharp", "clear", "sharp bilaterally"),
    ("effusion", "pneumothorax"): ("clear", "grossly clear"),
    ("fracture",): ("intact", "grossly intact"),
}
"""States besides `NORMAL_STATES` that mean normal for a body part."""
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
    "hyperinflation": (
        "The lungs are {adverb}hyperinflated.",
        "Both lungs are {adverb}overexpanded.",
        "The lungs are {adverb}hyperexpanded.",
    ),
    "hypoinflation": (
        "The lungs are {adverb}underinflated.",
        "The lung volumes are low.",
        "The lungs are {adverb}hypoinflated.",
    ),
    "emphysema": ("The lungs are {adverb}emphysematous.",),
    "interstitial": ("The interstitial markings are {adverb}increased.", "The interstitium is {adverb}prominent."),
    "tortuous": ("The thoracic aorta is {adverb}tortuous.", "The aorta is {adverb}ectatic."),
    "aorticcalc": (
        "The aortic arch is {adverb}calcified.",
        "The aortic knob is {adverb}calcified.",
        "The aorta is {adverb}atherosclerotic.",
        "The thoracic aorta is {adverb}calcified.",
    ),
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
    regions = {FINDINGS[fact.finding].region for fact in facts}
    of_region = ABSENT_REGION_WORDINGS.get(regions.pop(), ()) if len(regions) == 1 else ()
    wordings = of_region if of_region and rng.random() < 0.4 else ABSENT_WORDINGS
    return Sentence(fill_template(rng.choice(wordings), phrase), tuple(facts), section)


def written_normal(keys: tuple[str, ...], rng: Random, section: Section = "findings") -> Sentence:
    """Return a normal statement about a body part, composed of subject and state."""
    states = rng.choice((NORMAL_STATES, CLEAR_STATES.get(keys, NORMAL_STATES)))
    text = f"{rng.choice(NORMAL_SUBJECTS[keys])} {rng.choice(states)}."
    return Sentence(text, tuple(Fact(key, "absent") for key in keys), section)


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
