"""From facts to text: sentences in many wordings, reports in many styles. All wording is our own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

from radreward.synthesis.facts import AnnotatedReport, Fact, Section, Sentence
from radreward.synthesis.vocabulary import AFTER, BEFORE, DEGREES, FINDINGS, URGENCIES, ancestry

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
    "{A} is visualized.",
    "{A} is evident.",
    "{A} is apparent.",
    "{N} noted.",
    "Findings compatible with {n}.",
    "Radiograph shows {a}.",
    "Evidence of {n}.",
    "Redemonstrated is {a}.",
    "There is radiographic evidence of {n}.",
)
DEVICE = (
    "There is {a}.",
    "{A} is seen.",
    "{A} is noted.",
    "{A} is present.",
    "{A} is in place.",
    "{A} remains in place.",
    "{A} is again seen.",
    "{N}.",
    "{A} is identified.",
    "Present is {a}.",
    "Again seen is {a}.",
    "{A} is visualized.",
    "Note made of {a}.",
    "Support devices include {a}.",
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
    "{A} may be present.",
    "{A} is possible.",
    "Findings suggestive of {n}.",
    "{A} cannot be entirely excluded.",
    "{A} is difficult to exclude.",
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
        "Interval appearance of {n}.",
        "{A} is new from prior.",
        "New since the prior radiograph is {a}.",
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
        "There is interval worsening of {n}.",
        "{A} has progressed.",
        "{A} is worse than on the prior study.",
        "{A} is increased from prior.",
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
        "{A} is improved from prior.",
        "{A} is decreased from prior.",
        "Interval improvement in {n}.",
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
        "{A} remains unchanged.",
        "{A} is not significantly changed.",
        "{A} is again seen and is unchanged.",
        "No interval change in {n}.",
        "{A} is stable since the prior exam.",
    ),
    "resolved": (
        "{N} has resolved.",
        "Interval resolution of {n}.",
        "Previously seen {n} is no longer visualized.",
        "{N} is no longer seen.",
        "{N} has cleared in the interval.",
        "{N} is no longer present.",
        "There has been resolution of {n}.",
    ),
}
CHANGED_DEVICE = {
    "new": (
        "Interval placement of {n}.",
        "New {n}.",
        "There is a new {n}.",
        "{A} has been placed.",
        "{A} is new since the prior study.",
    ),
    "stable": (
        "{A} is unchanged.",
        "{A} is unchanged in position.",
        "Stable position of {n}.",
        "Unchanged position of {n}.",
        "Unchanged {n}.",
        "{A} remains in unchanged position.",
        "{A} is stable compared to the prior exam.",
    ),
    "resolved": ("{A} has been removed.", "Interval removal of {n}.", "{N} is no longer seen."),
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
    "No visible {n}.",
    "No appreciable {n}.",
    "No radiographic evidence of {n}.",
    "The chest is negative for {n}.",
    "There is no convincing {n}.",
    "No {n} is appreciated.",
    "No {n} is visualized.",
    "There is no sign of {n}.",
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
        "The lungs remain clear.",
        "Lungs are clear bilaterally.",
        "No focal airspace opacity is seen in either lung.",
    ),
    ("cardiomegaly",): (
        "The heart size is normal.",
        "Heart size is within normal limits.",
        "The cardiac silhouette is unremarkable.",
        "Normal heart size.",
        "The heart is not enlarged.",
        "Cardiac size is normal.",
        "The heart is normal in size.",
        "Heart size normal.",
        "The heart remains normal in size.",
    ),
    ("cardiomegaly", "widemed"): (
        "The cardiomediastinal silhouette is within normal limits.",
        "Cardiomediastinal contours are normal.",
        "The heart and mediastinum are unremarkable.",
        "Normal cardiomediastinal silhouette.",
        "Heart and mediastinal contours are within normal limits.",
        "Heart size and mediastinal contours are normal.",
        "The cardiomediastinal silhouette is unremarkable.",
    ),
    ("adenopathy", "widemed"): (
        "The hilar and mediastinal contours are normal.",
        "Mediastinal and hilar structures are unremarkable.",
        "The mediastinum and hila are normal.",
        "Hila and mediastinum are within normal limits.",
    ),
    ("effusion",): (
        "The costophrenic angles are sharp.",
        "Pleural surfaces are unremarkable.",
        "The costophrenic sulci are clear.",
        "The pleural spaces are clear.",
    ),
    ("effusion", "pneumothorax"): (
        "The pleura are normal.",
        "No pleural abnormality.",
        "The pleural surfaces are normal.",
        "No pleural abnormality is detected.",
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
        "No acute osseous abnormality.",
        "Bony structures are intact.",
    ),
    ("freeair",): (
        "The upper abdomen is unremarkable.",
        "Visualized upper abdomen is normal.",
        "The visualized abdomen is unremarkable.",
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
    "No acute process.",
    "No acute cardiopulmonary disease.",
    "No evidence of acute cardiopulmonary disease.",
    "Normal chest.",
    "No acute abnormality identified.",
)
STILL = (
    "Tubes and lines are unchanged in position.",
    "Support devices are in stable position.",
    "Lines and tubes remain in standard position.",
)
"""Only where every device is said to be unchanged."""
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
    "Comparison is made to the study of ___.",
    "Single portable view.",
    "Dr. ___ was notified at the time of interpretation.",
    "Please see the separate CT report.",
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
    "Follow up of a known lesion.",
    "Altered mental status.",
    "Status post intubation.",
    "Abdominal pain.",
    "Weight loss and night sweats.",
    "Trauma.",
    "History of breast cancer.",
    "Dialysis patient with dyspnea.",
    "Postoperative day two.",
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
    brief: bool = False
    """A sentence or two, with few normal statements."""


def brief_style(rng: Random) -> Style:
    """A style of reports of few sentences, as impressions often are."""
    return Style(rng.choice(("impression", "findings")), lower=rng.random() < 0.12, filler=0.05, brief=True)


def full_style(rng: Random) -> Style:
    """The style of reports whose every section can be told apart."""
    return Style("both", headed=True, history=True, filler=rng.choice((0.0, 0.0, 0.15, 0.3)))


def sample_style(rng: Random) -> Style:
    """A style of reports of usual length, each with its share."""
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
    nouns = FINDINGS[fact.finding].nouns
    noun = rng.choices(nouns, [1 / (1 + rank / 3) for rank in range(len(nouns))])[0]  # the usual names stand first
    article = not noun.startswith("*")
    words = [noun.removeprefix("*")]
    after = ""
    if fact.location:
        where = rng.choice([where for where in (BEFORE, AFTER) if fact.location in where])
        if fact.severity and _ENLARGED.match(words[0]):
            where = AFTER
        phrase = rng.choice(where[fact.location])
        if where is AFTER or " of the " in noun or " in the " in noun or " under " in noun:
            after = " " + (phrase if where is AFTER else rng.choice(AFTER[fact.location]))
        else:
            words.insert(0, phrase.removesuffix(" lung") if noun.startswith("lung ") else phrase)
            if fact.location.startswith("bilateral") and article:
                words[-1], article = _plural(words[-1]), False
    if fact.severity:
        fitting = [word for word in DEGREES[fact.severity] if _fits(word, fact.finding)]
        words.insert(0, rng.choice(ADVERBS[fact.severity] if _ENLARGED.match(words[0]) else fitting))
    return " ".join(words) + after + (_detail(fact, rng) if fact.polarity == "present" else ""), article


ADVERBS = {"mild": ("mildly", "minimally"), "moderate": ("moderately",), "severe": ("markedly", "severely")}
_ENLARGED = re.compile(
    "enlarged|dilated|elevated|raised|prominent|increased|hyper(?:expanded|inflated) |tortuous|unfolded|ectatic|"
    "widened|distended|calcified|atherosclerotic|diminished|blunted|displaced|exaggerated"
)
"""Names that begin with such a word take an adverb: "mildly enlarged heart"."""
MEASURED = {"mild": "6 mm", "moderate": "14 mm", "severe": "3.2 cm"}
"""A size follows from the degree, so that other words for a fact never give another size."""


def _detail(fact: Fact, rng: Random) -> str:
    """What only fits some findings and follows from the fact: a size, or which side is worse."""
    if fact.severity and fact.finding in ("nodule", "mass", "cavity") and rng.random() < 0.3:
        return f" measuring {MEASURED[fact.severity]}"
    if fact.location in ("bilateral", "bilateral lower") and fact.finding in WORSE_SIDE and rng.random() < 0.25:
        return f", {WORSE_SIDE[fact.finding]}"
    return ""


WORSE_SIDE = {
    "effusion": "left greater than right",
    "atelectasis": "right greater than left",
    "opacity": "right greater than left",
    "consolidation": "left greater than right",
}
"""Which side is worse follows from the finding, so that other words for a fact never say the contrary."""
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
    spelt = phrase.split()[0].isupper()  # "an LLL opacity", "an NG tube"
    return f"{'an' if phrase[0].lower() in ('aefhilmnorsx' if spelt else 'aeiou') else 'a'} {phrase}"


def _fill(template: str, phrase: str, article: bool) -> str:
    full = _with_article(phrase, article)
    text = template.format(n=phrase, N=_capital(phrase), a=full, A=_capital(full))
    if not article:
        text = text.replace("There is a new ", "There is new ")
    if _is_plural(phrase, article):
        text = re.sub(rf"^There is (?=((no|new|no definite|no convincing) )?{re.escape(full)})", "There are ", text)
        text = _SINGULAR.sub(lambda verb: _VERBS[verb[1]], text)
    return text


_VERBS = {"is": " are ", "has": " have ", "persists": " persist ", "remains": " remain "}
_SINGULAR = re.compile(r"(?<!There) (is|has|persists|remains) ")
_PLURAL = re.compile(r"(?:(?<![isu])s|bullae|bronchi) ?$")
"""A name in the plural; "fibrosis", "mass" and "thrombus" are not."""
_MODIFIER = re.compile(r",? (?:in|at|on|of|with|under|adjacent|bilaterally|measuring|left greater|right greater) ")


def _is_plural(phrase: str, article: bool) -> bool:
    """Whether a phrase takes a verb in the plural."""
    return not article and bool(_PLURAL.search(_MODIFIER.split(phrase + " ")[0]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence:
    """A sentence that states one fact."""
    phrase, article = noun_phrase(fact, rng)
    device = FINDINGS[fact.finding].region == "devices"
    if fact.change:
        text = _fill(rng.choice((CHANGED_DEVICE if device else CHANGED)[fact.change]), phrase, article)
    elif fact.polarity == "absent":
        text = _fill(rng.choice(ABSENT), phrase, article)
    elif fact.polarity == "uncertain":
        text = _fill(rng.choice(UNCERTAIN), phrase, article)
    else:
        text = _fill(rng.choice(DEVICE if device else PLAIN), phrase, article)
    return Sentence(text, (fact,), section)


def joint_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence:
    """One sentence for several facts that are present and not compared, or for several that are absent."""
    phrases = [noun_phrase(fact, rng) for fact in facts]
    if facts[0].polarity == "absent":
        names = [phrase for phrase, _ in phrases]
        last = " or " if len(names) < 3 else rng.choice((" or ", ", or "))
        listed = ", ".join(names[:-1]) + (last if len(names) > 1 else "") + names[-1]
        return Sentence(_fill(rng.choice(ABSENT), listed, article=False), tuple(facts), section)
    full = [_with_article(*phrase) for phrase in phrases]
    link = rng.choice((" and ", " with ", " and ") if len(full) < 3 else (" and ", ", and "))
    listed = ", ".join(full[:-1]) + (link if len(full) > 1 else "") + full[-1]
    there = "There are {}." if _is_plural(*phrases[0]) else "There is {}."
    template = rng.choice((there, there, "{}.", "{} are seen.", "{} noted.", "Findings include {}.", "{} are present."))
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


def _negatives(positive: set[str], rng: Random, section: Section, brief: bool) -> list[Sentence]:
    """Normal statements and pertinent negatives that contradict nothing that is said."""
    share = 0.1 if brief else 0.5
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
        found = body(said, rng, "findings") + _negatives(positive, rng, "findings", style.brief)
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
            found += _negatives(positive, rng, "impression", style.brief)
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
