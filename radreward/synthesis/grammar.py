"""From facts to text: sentences in many wordings, reports in many styles. All wording is our own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

from radreward.synthesis.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.synthesis.vocabulary import AFTER, BEFORE, DEGREES, FINDINGS, ancestry

PLAIN = (
    "There is {a}.",
    "{A} is seen.",
    "{A} is noted.",
    "{A} is present.",
    "{N}.",
    "Findings are consistent with {n}.",
    "{A} is identified.",
    "There is evidence of {n}.",
    "{A} is again noted.",
    "Note made of {a}.",
    "The study demonstrates {a}.",
    "{A} can be seen.",
    "Again seen is {a}.",
    "{N} is demonstrated.",
)
UNCERTAIN = (
    "Possible {n}.",
    "{A} cannot be excluded.",
    "Findings may represent {n}.",
    "Questionable {n}.",
    "Findings are concerning for {n}.",
    "Probable {n}.",
    "There may be {a}.",
    "{A} is suspected.",
    "Appearance suggests {n}.",
    "This could reflect {n} in the appropriate clinical setting.",
    "{A} is not excluded.",
    "Likely {n}.",
    "Suspicious for {n}.",
)
CHANGED = {
    "new": (
        "New {n}.",
        "There is a new {n}.",
        "Interval development of {n}.",
        "{A} is new since the prior study.",
        "Since the prior exam, new {n} has appeared.",
        "{N} is newly seen.",
        "{A} has developed in the interval.",
    ),
    "worse": (
        "Worsening {n}.",
        "Interval increase in {n}.",
        "{A} has increased since the prior study.",
        "{A} has worsened compared to the previous examination.",
        "{N} is more prominent than before.",
        "There has been interval progression of {n}.",
        "As compared to the prior radiograph, {n} has increased.",
        "Increasing {n}.",
    ),
    "better": (
        "Improving {n}.",
        "Interval decrease in {n}.",
        "{A} has decreased since the prior study.",
        "{A} has improved compared to the previous examination.",
        "There has been interval improvement of {n}.",
        "As compared to the prior radiograph, {n} has decreased.",
        "Decreasing {n}.",
        "{N} is less prominent than before.",
        "Partial clearing of {n}.",
    ),
    "stable": (
        "Unchanged {n}.",
        "Stable {n}.",
        "{A} is unchanged.",
        "{A} is stable compared to the prior exam.",
        "{A} persists without significant change.",
        "Persistent {n}.",
        "No significant change in {n}.",
        "As compared to the previous radiograph, {n} is unchanged.",
        "{N} is similar to prior.",
    ),
    "resolved": (
        "{N} has resolved.",
        "Interval resolution of {n}.",
        "Previously seen {n} is no longer visualized.",
        "{N} is no longer seen.",
        "{N} has cleared in the interval.",
        "{A} has been removed.",
    ),
}
ABSENT = (
    "No {n}.",
    "There is no {n}.",
    "No evidence of {n}.",
    "There is no evidence of {n}.",
    "Negative for {n}.",
    "No {n} is seen.",
    "No {n} is identified.",
    "There is no definite {n}.",
    "Without {n}.",
    "No visible {n}.",
)
NORMAL: dict[tuple[str, ...], tuple[str, ...]] = {
    ("opacity", "consolidation"): (
        "The lungs are clear.",
        "Lungs are clear.",
        "The lung fields are clear.",
        "Both lungs are clear.",
        "Clear lungs.",
        "The lungs are well expanded and clear.",
        "Lungs are grossly clear.",
    ),
    ("cardiomegaly",): (
        "The heart size is normal.",
        "Heart size is within normal limits.",
        "The cardiac silhouette is unremarkable.",
        "Normal heart size.",
        "The heart is not enlarged.",
        "Cardiac size is normal.",
        "The heart is normal in size.",
    ),
    ("cardiomegaly", "widemed"): (
        "The cardiomediastinal silhouette is within normal limits.",
        "Cardiomediastinal contours are normal.",
        "The heart and mediastinum are unremarkable.",
        "Normal cardiomediastinal silhouette.",
        "Heart and mediastinal contours are within normal limits.",
    ),
    ("adenopathy", "widemed"): (
        "The hilar and mediastinal contours are normal.",
        "Mediastinal and hilar structures are unremarkable.",
    ),
    ("effusion",): (
        "The costophrenic angles are sharp.",
        "Pleural surfaces are unremarkable.",
        "The costophrenic sulci are clear.",
        "The pleural spaces are clear.",
    ),
    ("edema", "congestion"): (
        "The pulmonary vasculature is normal.",
        "Pulmonary vascularity is within normal limits.",
        "Normal pulmonary vascularity.",
        "The pulmonary vessels are unremarkable.",
    ),
    ("fracture",): (
        "The osseous structures are intact.",
        "No acute bony abnormality.",
        "The visualized bones are unremarkable.",
        "Osseous structures are grossly unremarkable.",
        "Visualized skeleton is intact.",
    ),
    ("freeair",): (
        "The upper abdomen is unremarkable.",
        "Visualized upper abdomen is normal.",
    ),
}
ALL_CLEAR = (
    "No acute cardiopulmonary process.",
    "No acute cardiopulmonary abnormality.",
    "No acute intrathoracic process.",
    "Normal chest radiograph.",
    "No acute findings.",
    "No active disease.",
    "No radiographic evidence of acute disease.",
    "Unremarkable chest.",
    "No acute disease in the chest.",
)
FILLER = (
    "AP portable view of the chest.",
    "PA and lateral views of the chest were obtained.",
    "Frontal and lateral views of the chest.",
    "Single frontal view of the chest.",
    "The patient is rotated.",
    "Clinical correlation is recommended.",
    "Recommend follow up radiographs.",
    "These results were discussed with Dr. ___ by telephone.",
    "The study is limited by patient positioning.",
    "CT is suggested for further evaluation.",
    "Findings were communicated to the clinical team.",
    "Followup to clearing is advised.",
    "The remainder of the examination is unremarkable.",
    "Technique is limited by body habitus.",
)
HISTORY = (
    "Shortness of breath.",
    "Chest pain.",
    "Fever and cough.",
    "Line placement.",
    "Preoperative evaluation.",
    "Status post fall.",
    "Hypoxia.",
    "History of heart failure.",
    "Follow up of known lung nodule.",
    "Altered mental status.",
    "Status post intubation.",
    "Abdominal pain.",
    "Weight loss and night sweats.",
    "Trauma.",
    "History of breast cancer.",
    "Dialysis patient with dyspnea.",
)
PRIOR = (
    "None.",
    "Prior radiograph from ___.",
    "Chest radiograph of one day earlier.",
    "CT of the chest from ___.",
    "___.",
)

Layout = Literal["impression", "findings", "both"]


class Style(NamedTuple):
    """How a report is written."""

    layout: Layout = "findings"
    headed: bool = False
    numbered: bool = False
    lower: bool = False
    """Lower case with stops set apart, as report generators emit."""
    history: bool = False
    filler: float = 0.1


def sample_style(rng: Random) -> Style:
    """A style, each with its share."""
    layout: Layout = rng.choices(("impression", "findings", "both"), (4, 4, 3))[0]
    lower = rng.random() < 0.12
    return Style(
        layout,
        headed=layout == "both" and rng.random() < 0.5,
        numbered=not lower and layout != "findings" and rng.random() < 0.2,
        lower=lower,
        history=layout == "both" and rng.random() < 0.4,
        filler=rng.choice((0.0, 0.0, 0.15, 0.3)),
    )


def noun_phrase(fact: Fact, rng: Random) -> tuple[str, bool]:
    """The finding with its degree and place, and whether it takes an article: ("small left effusion", True)."""
    noun = rng.choice(FINDINGS[fact.finding].nouns)
    article = not noun.startswith("*")
    words = [noun.removeprefix("*")]
    after = ""
    if fact.location:
        options = [where for where in (BEFORE, AFTER) if fact.location in where]
        where = rng.choice(options)
        phrase = rng.choice(where[fact.location])
        if where is AFTER or " of the " in noun or " in the " in noun or " under " in noun:
            after = " " + (phrase if where is AFTER else rng.choice(AFTER[fact.location]))
        else:
            words.insert(0, phrase)
            if fact.location.startswith("bilateral") and article:
                words[-1], article = _plural(words[-1]), False
    if fact.severity:
        words.insert(0, rng.choice([word for word in DEGREES[fact.severity] if _fits(word, fact.finding)]))
    return " ".join(words) + after, article


SIZES = frozenset({"small", "trace", "tiny", "moderate-sized", "large", "massive"})
SIZED = frozenset({"nodule", "mass", "cavity", "bulla", "pericardial", "hiatal", "opacity", "consolidation", "subq"})


def _fits(word: str, key: str) -> bool:
    """Sizes belong to what has a size; "trace cardiomegaly" is not said."""
    return word not in SIZES or key in SIZED or FINDINGS[key].region == "pleura"


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "h")) else "s")


def _with_article(phrase: str, article: bool) -> str:
    if not article:
        return phrase
    return f"{'an' if phrase[0].lower() in 'aeiou' else 'a'} {phrase}"


def _fill(template: str, phrase: str, article: bool) -> str:
    full = _with_article(phrase, article)
    text = template.format(n=phrase, N=_capital(phrase), a=full, A=_capital(full))
    if not article:
        text = text.replace("There is a new ", "There is new ")
    if not article and _PLURAL.search(re.split(r" (?:in|at|on|of|with|under|adjacent|bilaterally) ", phrase + " ")[0]):
        for one, many in (
            ("There is ", "There are "),
            (" is ", " are "),
            (" has ", " have "),
            (" persists ", " persist "),
        ):
            text = text.replace(one, many)
    return text


_PLURAL = re.compile(r"(?<![isu])s ?$")
"""A name in the plural; "fibrosis", "mass" and "thrombus" are not."""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence:
    """A sentence that states one fact."""
    phrase, article = noun_phrase(fact, rng)
    if fact.change == "resolved":
        phrase, _ = noun_phrase(fact._replace(severity=None), rng)
        options = CHANGED["resolved"]
        device = FINDINGS[fact.finding].region == "devices"
        text = _fill(options[-1] if device else rng.choice(options[:-1]), phrase, article)
    elif fact.polarity == "absent":
        text = _fill(rng.choice(ABSENT), phrase, article)
    elif fact.polarity == "uncertain":
        text = _fill(rng.choice(UNCERTAIN), phrase, article)
    else:
        text = _fill(rng.choice(CHANGED[fact.change] if fact.change else PLAIN), phrase, article)
    return Sentence(text, (fact,), section)


def joint_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """One sentence for several facts that are present and not compared, or for several that are absent."""
    phrases = [noun_phrase(fact, rng) for fact in facts]
    if facts[0].polarity == "absent":
        names = [phrase for phrase, _ in phrases]
        last = rng.choice((" or ", " or ", ", or ", " nor "))
        listed = ", ".join(names[:-1]) + (last if len(names) > 1 else "") + names[-1]
        return Sentence(_fill(rng.choice(ABSENT), listed, article=False), tuple(facts), section)
    full = [_with_article(*phrase) for phrase in phrases]
    link = rng.choice((" and ", " with ", " and ", ", "))
    listed = ", ".join(full[:-1]) + (link if len(full) > 1 else "") + full[-1]
    template = rng.choice(("There is {}.", "{}.", "There are {}.", "{} are seen.", "{} noted.", "Findings include {}."))
    return Sentence(
        _capital(template.format(listed if template[0] != "{" else _capital(listed))), tuple(facts), section
    )


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


def _negatives(positive: set[str], rng: Random, section: Section) -> list[Sentence]:
    """Normal statements and pertinent negatives that contradict nothing that is said."""
    taken = {key for finding in positive for key in ancestry(finding)}
    free = [keys for keys in NORMAL if not any(_touched(key, taken, positive) for key in keys)]
    sentences = [normal_sentence(keys, rng, section) for keys in free if rng.random() < 0.45]
    candidates = ["pneumothorax", "effusion", "consolidation", "edema", "fracture", "nodule", "pneumonia", "freeair"]
    denied = [Fact(key, "absent") for key in candidates if not _touched(key, taken, positive) and rng.random() < 0.45]
    return sentences + body(denied, rng, section)


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
    if style.layout != "impression":
        found = body(said, rng, "findings") + _negatives(positive, rng, "findings")
        rng.shuffle(found)
        sentences += _with_filler(found or [Sentence(rng.choice(ALL_CLEAR), ())], style.filler, rng)
    if style.layout != "findings":
        matters = [fact for fact in said if FINDINGS[fact.finding].urgency != "benign"]
        restated = said if style.layout == "impression" else matters
        found = body(restated, rng, "impression")
        if not matters or (not found):
            found.insert(0, Sentence(rng.choice(ALL_CLEAR), (), "impression"))
        elif style.layout == "impression" and rng.random() < 0.4:
            found += _negatives(positive, rng, "impression")
        sentences += _with_filler(found, style.filler / 2, rng)
    return write(AnnotatedReport(tuple(sentences), style.headed), style)


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
