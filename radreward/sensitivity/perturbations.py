"""Reports that were made to be edited, errors made in them one kind at a time, and changes that mean nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

from radreward.synthesis.fact_sampling import sample_fact, sample_keys
from radreward.synthesis.grammar import joint_sentence, sentence
from radreward.synthesis.noun_phrases import ADVERBS, SIZES
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import AFTER, DEGREES, FINDINGS, PLACES, related

DOSES = 3
"""Most errors of one kind in one report."""
SIDED = ("effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "scar", "subq", "thickening")
MEASURED = ("nodule", "mass", "cavity")
LINES = ("cvc", "picc", "port", "dialysis")
DENIED = ("edema", "fracture", "freeair", "cardiomegaly", "widemed", "adenopathy", "pneumonia")
_MISPLACED = {"above carina": "right mainstem", "stomach": "esophagus", "svc": "brachiocephalic"}
_OTHERWISE: dict[Change | None, Change] = {"worse": "better", "better": "worse", "stable": "worse", "new": "stable"}
_MIRROR = {"left": "right", "LLL": "RLL", "LUL": "RUL"}
_MIRROR |= {other: one for one, other in _MIRROR.items()}
_SIDE = re.compile(r"\b(?:" + "|".join(_MIRROR) + r")\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<=measuring )[\d.]+(?= [cm]m)")
_OTHER_SIZE = {"6": "16", "14": "41", "3.2": "1.3"}
_DRAWS = 40
"""Of so many wordings of an edited fact the one that is most like the old sentence is taken."""

Report = tuple[Sentence, ...]
Edit = Callable[[Sentence, Random], Sentence | None]


class Family(NamedTuple):
    """A report, and what one kind of edit makes of it."""

    reference: str
    edited: tuple[str, ...]
    """With one edit, with two, and so on."""


def sample_report(rng: Random) -> Report:
    """A report of about twelve sentences, a finding each, in which every kind of error can be made three times.

    >>> report = sample_report(Random(0))
    >>> len(report), report == sample_report(Random(0))
    (12, True)
    """
    kept: list[str] = []
    for key in rng.sample(SIDED, k=len(SIDED)):
        if not any(related(key, other) for other in kept):
            kept.append(key)
    said = [_sentence(_side(key, rng)._replace(change=rng.choice(tuple(_OTHERWISE))), rng) for key in kept[:DOSES]]
    said += [_sentence(_side(key, rng), rng, measured=True) for key in MEASURED]
    tubes = (("ett", "above carina"), ("ngt", "stomach"), (rng.choice(LINES), "svc"))
    said += [_placed(Fact(key, location=place), rng) for key, place in tubes]
    denied = rng.sample(DENIED, k=4)
    said += [
        joint_sentence([Fact(key, "absent") for key in part], rng) for part in (denied[:1], denied[1:2], denied[2:])
    ]
    rng.shuffle(said)
    return tuple(said)


def _side(key: str, rng: Random) -> Fact:
    places = [place for place in PLACES[FINDINGS[key].places] if place.startswith(("left", "right"))]
    return Fact(key, location=rng.choice(places), severity=rng.choice(tuple(DEGREES)) if FINDINGS[key].graded else None)


def _sentence(fact: Fact, rng: Random, measured: bool = False) -> Sentence:
    """Some wording of a fact, with a size or without."""
    while bool(_SIZE.search((found := sentence(fact, rng)).text)) != measured:
        pass
    return found


def _placed(fact: Fact, rng: Random) -> Sentence:
    """Some wording of a device that says where it is in words that stand behind it."""
    while not any(phrase in (found := sentence(fact, rng)).text for phrase in AFTER[fact.location or ""]):
        pass
    return found


def text_of(report: Report) -> str:
    """The report as a text."""
    return " ".join(entry.text for entry in report)


def _nearest(fact: Fact, old: Sentence, rng: Random) -> Sentence:
    """A wording of a fact that is much like an old one."""
    drawn = [sentence(fact, rng) for _ in range(_DRAWS)]
    return max(drawn, key=lambda entry: SequenceMatcher(None, entry.text, old.text, autojunk=False).ratio())


def laterality(entry: Sentence, rng: Random) -> Sentence | None:
    """Left for right."""
    fact = entry.facts[0]
    if not (fact.location or "").startswith(("left", "right")) or FINDINGS[fact.finding].region == "devices":
        return None
    other = fact._replace(location=_SIDE.sub(_swapped, fact.location or ""))
    text, count = _SIDE.subn(_swapped, entry.text)
    return entry._replace(text=text, facts=(other,)) if count else _nearest(other, entry, rng)


def _swapped(match: re.Match[str]) -> str:
    word = match[0]
    other = _MIRROR.get(word) or _MIRROR[word.lower()]
    return other.capitalize() if word[0].isupper() and not word.isupper() else other


def negation(entry: Sentence, rng: Random) -> Sentence | None:
    """What is there is denied."""
    fact = entry.facts[0]
    if fact.finding not in SIDED or not fact.positive:
        return None
    return _nearest(fact._replace(polarity="absent", severity=None, change=None), entry, rng)


def severity(entry: Sentence, rng: Random) -> Sentence | None:
    """Another degree."""
    fact = entry.facts[0]
    if fact.finding not in SIDED or not fact.severity:
        return None
    degree = rng.choice([other for other in DEGREES if other != fact.severity])
    known = sorted((*DEGREES[fact.severity], *ADVERBS[fact.severity]), key=len, reverse=True)
    found = re.search(r"\b(?:" + "|".join(map(re.escape, known)) + r")\b", entry.text, re.IGNORECASE)
    if found is None:
        return None
    word = found[0].lower()
    if word in ADVERBS[fact.severity]:
        options = list(ADVERBS[degree])
    else:
        options = [other for other in DEGREES[degree] if (other in SIZES) == (word in SIZES)] or list(DEGREES[degree])
    new = rng.choice(options)
    text = (
        entry.text[: found.start()] + (new.capitalize() if found[0][0].isupper() else new) + entry.text[found.end() :]
    )
    return entry._replace(text=text, facts=(fact._replace(severity=degree),))


def measurement(entry: Sentence, rng: Random) -> Sentence | None:
    """Another size, in the same unit."""
    text, count = _SIZE.subn(lambda match: _OTHER_SIZE[match[0]], entry.text)
    return entry._replace(text=text) if count else None


def device_position(entry: Sentence, rng: Random) -> Sentence | None:
    """A tube or a line that ends where it should not."""
    fact = entry.facts[0]
    wrong = _MISPLACED.get(fact.location or "")
    if not wrong:
        return None
    here = max((phrase for phrase in AFTER[fact.location or ""] if phrase in entry.text), key=len)
    text = entry.text.replace(here, rng.choice(AFTER[wrong]))
    return entry._replace(text=text, facts=(fact._replace(location=wrong),))


def comparison(entry: Sentence, rng: Random) -> Sentence | None:
    """Worse for better, and the like."""
    fact = entry.facts[0]
    return _nearest(fact._replace(change=_OTHERWISE[fact.change]), entry, rng) if fact.change else None


def omission(entry: Sentence, rng: Random) -> Sentence | None:
    """A finding goes unsaid."""
    fact = entry.facts[0]
    return entry._replace(text="", facts=()) if fact.finding in SIDED and fact.positive else None


EDITS: dict[str, Edit] = {
    "laterality": laterality,
    "negation": negation,
    "severity": severity,
    "measurement": measurement,
    "device position": device_position,
    "comparison": comparison,
    "omission": omission,
}
"""Errors that are made in a sentence."""


def with_errors(kind: str, report: Report, rng: Random) -> list[Report]:
    """The report with one error of a kind, with two, and so on up to `DOSES`; each has the errors of the one before.

    Raises:
        ValueError: If there is no such kind.
    """
    if kind not in FALLS:
        raise ValueError(f"Expected one of {', '.join(FALLS)} but got {kind!r}.")
    found: list[Report] = []
    for place in rng.sample(range(len(report)), k=len(report)):
        if len(found) == DOSES:
            break
        now = list(found[-1] if found else report)
        new = _false_finding(now, rng) if kind == FALSE_FINDING else EDITS[kind](now[place], rng)
        if new is None:
            continue
        if kind == FALSE_FINDING:
            now.append(new)
        else:
            now[place] = new
        found.append(tuple(now))
    return [tuple(entry for entry in edited if entry.text) for edited in found]


FALSE_FINDING = "false finding"
FALLS = (*EDITS, FALSE_FINDING)
"""What a metric has to see."""


def _false_finding(report: list[Sentence], rng: Random) -> Sentence:
    """A sentence about something that nothing was said of."""
    said = {fact.finding for entry in report for fact in entry.facts}
    free = [k for k, entry in FINDINGS.items() if entry.region != "devices" and not any(related(k, s) for s in said)]
    return sentence(sample_fact(sample_keys(rng, free, 1)[0], rng)._replace(change=None), rng)


SYNONYMS: Mapping[str, str] = {
    "unchanged": "stable",
    "seen": "visualized",
    "noted": "identified",
    "prior study": "previous examination",
    "slight": "mild",
    "minimal": "mild",
    "marked": "severe",
    "tiny": "very small",
    "cardiomegaly": "cardiac enlargement",
    "pulmonary edema": "edema of the lungs",
    "pleural effusion": "pleural fluid collection",
    "nodule": "nodular density",
    "evident": "apparent",
    "terminating": "ending",
    "present": "visible",
}
ABBREVIATIONS: Mapping[str, str] = {
    "right lower lobe": "RLL",
    "left lower lobe": "LLL",
    "right upper lobe": "RUL",
    "left upper lobe": "LUL",
    "right middle lobe": "RML",
    "endotracheal tube": "ETT",
    "nasogastric tube": "NGT",
    "superior vena cava": "SVC",
    "central venous catheter": "CVC",
    "pneumothorax": "PTX",
    "bilateral": "b/l",
    "with": "w/",
    "right": "R",
    "left": "L",
}


def paraphrase(report: Report, rng: Random) -> str:
    """Every sentence in other words of the grammar, sizes and places kept."""
    said = []
    for entry in report:
        if len(entry.facts) > 1:
            said.append(joint_sentence(entry.facts, rng).text)
        elif entry.facts[0].location in _MISPLACED:
            said.append(_placed(entry.facts[0], rng).text)
        else:
            said.append(_sentence(entry.facts[0], rng, bool(_SIZE.search(entry.text))).text)
    return " ".join(said)


def reordering(report: Report, rng: Random) -> str:
    """The sentences in another order."""
    return text_of(tuple(rng.sample(report, k=len(report))))


def synonym(report: Report, rng: Random) -> str:
    """Words of `SYNONYMS` for each other."""
    return _exchanged(text_of(report), {**SYNONYMS, **{one: other for other, one in SYNONYMS.items()}})


def abbreviation(report: Report, rng: Random) -> str:
    """Words cut short, as `ABBREVIATIONS` has them."""
    return _exchanged(text_of(report), ABBREVIATIONS)


def whitespace(report: Report, rng: Random) -> str:
    """A sentence a line, and now and then two spaces."""
    return "\n".join(re.sub(" ", lambda _: rng.choice((" ", "  ")), entry.text) for entry in report)


def case(report: Report, rng: Random) -> str:
    """All in capitals, or all in small letters."""
    return rng.choice((str.upper, str.lower))(text_of(report))


def _exchanged(text: str, words: Mapping[str, str]) -> str:
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + r")\b"

    def other(match: re.Match[str]) -> str:
        new = words[match[0].lower()]
        return new[:1].upper() + new[1:] if match[0][0].isupper() else new

    return re.sub(pattern, other, text, flags=re.IGNORECASE)


MEANINGLESS: dict[str, Callable[[Report, Random], str]] = {
    "paraphrase": paraphrase,
    "reordering": reordering,
    "synonym": synonym,
    "abbreviation": abbreviation,
    "whitespace": whitespace,
    "case": case,
}
STAYS = tuple(MEANINGLESS)
"""What a metric must not mind."""


def family(probe: str, report: Report, seed: str) -> Family:
    """The edits of one probe in one report; equal seeds give equal edits.

    >>> made = family("laterality", sample_report(Random(1)), "1")
    >>> len(made.edited), made == family("laterality", sample_report(Random(1)), "1")
    (3, True)
    """
    rng = Random(f"{probe} {seed}")
    if probe in MEANINGLESS:
        edited = [MEANINGLESS[probe](report, rng)]
    else:
        edited = [text_of(one) for one in with_errors(probe, report, rng)]
    return Family(text_of(report), tuple(edited))
