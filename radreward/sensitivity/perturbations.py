"""Reports that were made to be edited, errors made in them one kind at a time, and changes that mean nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import FINDINGS, is_related
from radreward.text.locations import LOCATION_SUFFIXES, LOCATIONS
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS, SIZE_WORDS

MAX_ERRORS = 3
"""Most errors of one kind in one report."""
LATERALIZED = ("effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "scar", "subq", "thickening")
SIZED_FINDINGS = ("nodule", "mass", "cavity")
CENTRAL_LINES = ("cvc", "picc", "port", "dialysis")
NEGATABLE = ("edema", "fracture", "freeair", "cardiomegaly", "widemed", "adenopathy", "pneumonia")
_MISPLACED = {"above carina": "right mainstem", "stomach": "esophagus", "svc": "brachiocephalic"}
_OTHER_CHANGE: dict[Change | None, Change] = {"worse": "better", "better": "worse", "stable": "worse", "new": "stable"}
_MIRROR = {"left": "right", "LLL": "RLL", "LUL": "RUL"}
_MIRROR |= {other: one for one, other in _MIRROR.items()}
_SIDE = re.compile(r"\b(?:" + "|".join(_MIRROR) + r")\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<=measuring )[\d.]+(?= [cm]m)")
_OTHER_SIZE = {"6": "16", "14": "41", "3.2": "1.3"}
_NUM_WORDINGS = 40
"""Of so many wordings of an edited fact the one that is most like the old sentence is taken."""

ReportSentences = tuple[Sentence, ...]
SentenceEdit = Callable[[Sentence, Random], Sentence | None]


class PerturbedReport(NamedTuple):
    """A report, and what one kind of edit makes of it."""

    reference: str
    perturbed: tuple[str, ...]
    """With one edit, with two, and so on."""


def sample_probe_report(rng: Random) -> ReportSentences:
    """A report of about twelve sentences, a finding each, in which every kind of error can be made three times.

    >>> report = sample_report(Random(0))
    >>> len(report), report == sample_report(Random(0))
    (12, True)
    """
    kept: list[str] = []
    for key in rng.sample(LATERALIZED, k=len(LATERALIZED)):
        if not any(is_related(key, other) for other in kept):
            kept.append(key)
    said = [
        _sample_sentence(_sample_lateral_fact(key, rng)._replace(change=rng.choice(tuple(_OTHER_CHANGE))), rng)
        for key in kept[:MAX_ERRORS]
    ]
    said += [_sample_sentence(_sample_lateral_fact(key, rng), rng, measured=True) for key in SIZED_FINDINGS]
    tubes = (("ett", "above carina"), ("ngt", "stomach"), (rng.choice(CENTRAL_LINES), "svc"))
    said += [_sample_device_sentence(Fact(key, location=place), rng) for key, place in tubes]
    denied = rng.sample(NEGATABLE, k=4)
    said += [
        joint_sentence([Fact(key, "absent") for key in part], rng) for part in (denied[:1], denied[1:2], denied[2:])
    ]
    rng.shuffle(said)
    return tuple(said)


def _sample_lateral_fact(key: str, rng: Random) -> Fact:
    places = [place for place in LOCATIONS[FINDINGS[key].location_group] if place.startswith(("left", "right"))]
    return Fact(
        key,
        location=rng.choice(places),
        severity=rng.choice(tuple(SEVERITY_WORDS)) if FINDINGS[key].has_severity else None,
    )


def _sample_sentence(fact: Fact, rng: Random, measured: bool = False) -> Sentence:
    """Some wording of a fact, with a size or without."""
    while bool(_SIZE.search((found := fact_sentence(fact, rng)).text)) != measured:
        pass
    return found


def _sample_device_sentence(fact: Fact, rng: Random) -> Sentence:
    """Some wording of a device that says where it is in words that stand behind it."""
    while not any(
        phrase in (found := fact_sentence(fact, rng)).text for phrase in LOCATION_SUFFIXES[fact.location or ""]
    ):
        pass
    return found


def report_text(report: ReportSentences) -> str:
    """The report as a text."""
    return " ".join(entry.text for entry in report)


def _closest_wording(fact: Fact, old: Sentence, rng: Random) -> Sentence:
    """A wording of a fact that is much like an old one."""
    drawn = [fact_sentence(fact, rng) for _ in range(_NUM_WORDINGS)]
    return max(drawn, key=lambda entry: SequenceMatcher(None, entry.text, old.text, autojunk=False).ratio())


def mirror_sentence(entry: Sentence, rng: Random) -> Sentence | None:
    """Left for right."""
    fact = entry.facts[0]
    if not (fact.location or "").startswith(("left", "right")) or FINDINGS[fact.finding].region == "devices":
        return None
    other = fact._replace(location=_SIDE.sub(_mirror_match, fact.location or ""))
    text, count = _SIDE.subn(_mirror_match, entry.text)
    return entry._replace(text=text, facts=(other,)) if count else _closest_wording(other, entry, rng)


def _mirror_match(match: re.Match[str]) -> str:
    word = match[0]
    other = _MIRROR.get(word) or _MIRROR[word.lower()]
    return other.capitalize() if word[0].isupper() and not word.isupper() else other


def negate_sentence(entry: Sentence, rng: Random) -> Sentence | None:
    """What is there is denied."""
    fact = entry.facts[0]
    if fact.finding not in LATERALIZED or not fact.positive:
        return None
    return _closest_wording(fact._replace(polarity="absent", severity=None, change=None), entry, rng)


def regrade_sentence(entry: Sentence, rng: Random) -> Sentence | None:
    """Another degree."""
    fact = entry.facts[0]
    if fact.finding not in LATERALIZED or not fact.severity:
        return None
    degree = rng.choice([other for other in SEVERITY_WORDS if other != fact.severity])
    known = sorted((*SEVERITY_WORDS[fact.severity], *SEVERITY_ADVERBS[fact.severity]), key=len, reverse=True)
    found = re.search(r"\b(?:" + "|".join(map(re.escape, known)) + r")\b", entry.text, re.IGNORECASE)
    if found is None:
        return None
    word = found[0].lower()
    if word in SEVERITY_ADVERBS[fact.severity]:
        options = list(SEVERITY_ADVERBS[degree])
    else:
        options = [other for other in SEVERITY_WORDS[degree] if (other in SIZE_WORDS) == (word in SIZE_WORDS)] or list(
            SEVERITY_WORDS[degree]
        )
    new = rng.choice(options)
    text = (
        entry.text[: found.start()] + (new.capitalize() if found[0][0].isupper() else new) + entry.text[found.end() :]
    )
    return entry._replace(text=text, facts=(fact._replace(severity=degree),))


def resize_sentence(entry: Sentence, rng: Random) -> Sentence | None:
    """Another size, in the same unit."""
    text, count = _SIZE.subn(lambda match: _OTHER_SIZE[match[0]], entry.text)
    return entry._replace(text=text) if count else None


def misplace_device(entry: Sentence, rng: Random) -> Sentence | None:
    """A tube or a line that ends where it should not."""
    fact = entry.facts[0]
    wrong = _MISPLACED.get(fact.location or "")
    if not wrong:
        return None
    here = max((phrase for phrase in LOCATION_SUFFIXES[fact.location or ""] if phrase in entry.text), key=len)
    text = entry.text.replace(here, rng.choice(LOCATION_SUFFIXES[wrong]))
    return entry._replace(text=text, facts=(fact._replace(location=wrong),))


def reverse_change(entry: Sentence, rng: Random) -> Sentence | None:
    """Worse for better, and the like."""
    fact = entry.facts[0]
    return _closest_wording(fact._replace(change=_OTHER_CHANGE[fact.change]), entry, rng) if fact.change else None


def drop_sentence(entry: Sentence, rng: Random) -> Sentence | None:
    """A finding goes unsaid."""
    fact = entry.facts[0]
    return entry._replace(text="", facts=()) if fact.finding in LATERALIZED and fact.positive else None


ERROR_EDITS: dict[str, SentenceEdit] = {
    "laterality": mirror_sentence,
    "negation": negate_sentence,
    "severity": regrade_sentence,
    "measurement": resize_sentence,
    "device position": misplace_device,
    "comparison": reverse_change,
    "omission": drop_sentence,
}
"""Errors that are made in a sentence."""


def inject_errors(probe: str, report: ReportSentences, rng: Random) -> list[ReportSentences]:
    """The report with one error of a kind, with two, and so on up to `DOSES`; each has the errors of the one before.

    Raises:
        ValueError: If there is no such kind.
    """
    if probe not in ERROR_PROBES:
        raise ValueError(f"Expected one of {', '.join(ERROR_PROBES)} but got {probe!r}.")
    found: list[ReportSentences] = []
    for place in rng.sample(range(len(report)), k=len(report)):
        if len(found) == MAX_ERRORS:
            break
        now = list(found[-1] if found else report)
        new = _false_finding(now, rng) if probe == FALSE_FINDING else ERROR_EDITS[probe](now[place], rng)
        if new is None:
            continue
        if probe == FALSE_FINDING:
            now.append(new)
        else:
            now[place] = new
        found.append(tuple(now))
    return [tuple(entry for entry in edited if entry.text) for edited in found]


FALSE_FINDING = "false finding"
ERROR_PROBES = (*ERROR_EDITS, FALSE_FINDING)
"""What a metric has to see."""


def _false_finding(report: list[Sentence], rng: Random) -> Sentence:
    """A sentence about something that nothing was said of."""
    said = {fact.finding for entry in report for fact in entry.facts}
    free = [k for k, entry in FINDINGS.items() if entry.region != "devices" and not any(is_related(k, s) for s in said)]
    return fact_sentence(sample_fact(sample_findings(rng, free, 1)[0], rng)._replace(change=None), rng)


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


def reword_sentences(report: ReportSentences, rng: Random) -> str:
    """Every sentence in other words of the grammar, sizes and places kept."""
    said = []
    for entry in report:
        if len(entry.facts) > 1:
            said.append(joint_sentence(entry.facts, rng).text)
        elif entry.facts[0].location in _MISPLACED:
            said.append(_sample_device_sentence(entry.facts[0], rng).text)
        else:
            said.append(_sample_sentence(entry.facts[0], rng, bool(_SIZE.search(entry.text))).text)
    return " ".join(said)


def shuffle_sentences(report: ReportSentences, rng: Random) -> str:
    """The sentences in another order."""
    return report_text(tuple(rng.sample(report, k=len(report))))


def replace_synonyms(report: ReportSentences, rng: Random) -> str:
    """Words of `SYNONYMS` for each other."""
    return _replace_phrases(report_text(report), {**SYNONYMS, **{one: other for other, one in SYNONYMS.items()}})


def abbreviate_terms(report: ReportSentences, rng: Random) -> str:
    """Words cut short, as `ABBREVIATIONS` has them."""
    return _replace_phrases(report_text(report), ABBREVIATIONS)


def vary_whitespace(report: ReportSentences, rng: Random) -> str:
    """A sentence a line, and now and then two spaces."""
    return "\n".join(re.sub(" ", lambda _: rng.choice((" ", "  ")), entry.text) for entry in report)


def change_case(report: ReportSentences, rng: Random) -> str:
    """All in capitals, or all in small letters."""
    return rng.choice((str.upper, str.lower))(report_text(report))


def _replace_phrases(text: str, words: Mapping[str, str]) -> str:
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + r")\b"

    def other(match: re.Match[str]) -> str:
        new = words[match[0].lower()]
        return new[:1].upper() + new[1:] if match[0][0].isupper() else new

    return re.sub(pattern, other, text, flags=re.IGNORECASE)


INVARIANT_EDITS: dict[str, Callable[[ReportSentences, Random], str]] = {
    "paraphrase": reword_sentences,
    "reordering": shuffle_sentences,
    "synonym": replace_synonyms,
    "abbreviation": abbreviate_terms,
    "whitespace": vary_whitespace,
    "case": change_case,
}
INVARIANCE_PROBES = tuple(INVARIANT_EDITS)
"""What a metric must not mind."""


def perturb_report(probe: str, report: ReportSentences, seed: str) -> PerturbedReport:
    """The edits of one probe in one report; equal seeds give equal edits.

    >>> made = family("laterality", sample_report(Random(1)), "1")
    >>> len(made.edited), made == family("laterality", sample_report(Random(1)), "1")
    (3, True)
    """
    rng = Random(f"{probe} {seed}")
    if probe in INVARIANT_EDITS:
        edited = [INVARIANT_EDITS[probe](report, rng)]
    else:
        edited = [report_text(one) for one in inject_errors(probe, report, rng)]
    return PerturbedReport(report_text(report), tuple(edited))
