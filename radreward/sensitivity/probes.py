"""Sensitivity probes: reports with errors of one kind, and reports changed without a change of meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.synthesis.perturbations.sentence_edits import change_severity_word, closest_wording
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import FINDINGS, is_related, remove_related
from radreward.text.locations import LOCATION_SUFFIXES, mirror_side
from radreward.text.severity import SEVERITY_WORDS

MAX_ERRORS = 3
"""Maximum number of errors of one kind in one report."""
LATERALIZED = ("effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "scar", "subq", "thickening")
SIZED_FINDINGS = ("nodule", "mass", "cavity")
CENTRAL_LINES = ("cvc", "picc", "port", "dialysis")
NEGATABLE = ("edema", "fracture", "freeair", "cardiomegaly", "widemed", "adenopathy", "pneumonia")
_MISPLACED = {"above carina": "right mainstem", "stomach": "esophagus", "svc": "brachiocephalic"}
_OTHER_CHANGE: dict[Change | None, Change] = {"worse": "better", "better": "worse", "stable": "worse", "new": "stable"}
_SIZE = re.compile(r"(?<=measuring )[\d.]+(?= [cm]m)")
_OTHER_SIZE = {"6": "16", "14": "41", "3.2": "1.3"}

ReportSentences = tuple[Sentence, ...]
SentenceEdit = Callable[[Sentence, Random], Sentence | None]


class PerturbedReport(NamedTuple):
    """A report and its perturbations by one probe."""

    reference: str
    perturbed: tuple[str, ...]
    """The report with one error, with two, and so on; or one meaning-preserving edit."""


def sample_probe_report(rng: Random) -> ReportSentences:
    """Return a report of twelve sentences in which every kind of error can be made three times.

    >>> report = sample_probe_report(Random(0))
    >>> len(report), report == sample_probe_report(Random(0))
    (12, True)
    """
    sentences = []
    for key in remove_related(rng.sample(LATERALIZED, k=len(LATERALIZED)))[:MAX_ERRORS]:
        fact = _sample_lateral_fact(key, rng)
        sentences.append(_sample_sentence(fact._replace(change=rng.choice(tuple(_OTHER_CHANGE))), rng))
    sentences += [_sample_sentence(_sample_lateral_fact(key, rng), rng, has_size=True) for key in SIZED_FINDINGS]
    devices = (("ett", "above carina"), ("ngt", "stomach"), (rng.choice(CENTRAL_LINES), "svc"))
    sentences += [_sample_device_sentence(Fact(key, location=location), rng) for key, location in devices]
    absent = [Fact(key, "absent") for key in rng.sample(NEGATABLE, k=4)]
    sentences += [joint_sentence(facts, rng) for facts in (absent[:1], absent[1:2], absent[2:])]
    rng.shuffle(sentences)
    return tuple(sentences)


def _sample_lateral_fact(key: str, rng: Random) -> Fact:
    finding = FINDINGS[key]
    location = rng.choice([location for location in finding.locations if location.startswith(("left", "right"))])
    return Fact(key, location=location, severity=rng.choice(tuple(SEVERITY_WORDS)) if finding.has_severity else None)


def _sample_sentence(fact: Fact, rng: Random, has_size: bool = False) -> Sentence:
    """Return a sentence for a fact, with a size in millimeters or centimeters or without."""
    while bool(_SIZE.search((sentence := fact_sentence(fact, rng)).text)) != has_size:
        pass
    return sentence


def _sample_device_sentence(fact: Fact, rng: Random) -> Sentence:
    """Return a sentence for a device that states its location after the name."""
    phrases = LOCATION_SUFFIXES[fact.location or ""]
    while not any(phrase in (sentence := fact_sentence(fact, rng)).text for phrase in phrases):
        pass
    return sentence


def report_text(report: ReportSentences) -> str:
    """Return the text of a report."""
    return " ".join(sentence.text for sentence in report)


def _mirror(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    if not (fact.location or "").startswith(("left", "right")) or FINDINGS[fact.finding].is_device:
        return None
    mirrored = fact._replace(location=mirror_side(fact.location or ""))
    text = mirror_side(sentence.text)
    is_changed = text != sentence.text
    return sentence._replace(text=text, facts=(mirrored,)) if is_changed else closest_wording(mirrored, sentence, rng)


def _negate(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    if not _is_lateralized_finding(fact):
        return None
    return closest_wording(fact._replace(polarity="absent", severity=None, change=None), sentence, rng)


def _change_severity(sentence: Sentence, rng: Random) -> Sentence | None:
    return change_severity_word(sentence, rng) if sentence.facts[0].finding in LATERALIZED else None


def _resize(sentence: Sentence, rng: Random) -> Sentence | None:
    text, count = _SIZE.subn(lambda match: _OTHER_SIZE[match[0]], sentence.text)
    return sentence._replace(text=text) if count else None


def _misplace_device(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    wrong = _MISPLACED.get(fact.location or "")
    if not wrong:
        return None
    stated = max((phrase for phrase in LOCATION_SUFFIXES[fact.location or ""] if phrase in sentence.text), key=len)
    text = sentence.text.replace(stated, rng.choice(LOCATION_SUFFIXES[wrong]))
    return sentence._replace(text=text, facts=(fact._replace(location=wrong),))


def _reverse_change(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    return closest_wording(fact._replace(change=_OTHER_CHANGE[fact.change]), sentence, rng) if fact.change else None


def _omit(sentence: Sentence, rng: Random) -> Sentence | None:
    return sentence._replace(text="", facts=()) if _is_lateralized_finding(sentence.facts[0]) else None


def _is_lateralized_finding(fact: Fact) -> bool:
    return fact.finding in LATERALIZED and fact.positive


ERROR_EDITS: dict[str, SentenceEdit] = {
    "laterality": _mirror,
    "negation": _negate,
    "severity": _change_severity,
    "measurement": _resize,
    "device position": _misplace_device,
    "comparison": _reverse_change,
    "omission": _omit,
}
"""Edits of one sentence that make an error of a kind, or return None if they do not apply."""
FALSE_FINDING = "false finding"
ERROR_PROBES = (*ERROR_EDITS, FALSE_FINDING)
"""Probes under which a score should fall."""


def inject_errors(probe: str, report: ReportSentences, rng: Random) -> list[ReportSentences]:
    """Return the report with one error of a kind, with two, up to `MAX_ERRORS`, each with the errors before it.

    Raises:
        ValueError: If there is no such probe.
    """
    if probe not in ERROR_PROBES:
        raise ValueError(f"Expected one of {', '.join(ERROR_PROBES)} but got {probe!r}.")
    perturbed: list[ReportSentences] = []
    for index in rng.sample(range(len(report)), k=len(report)):
        if len(perturbed) == MAX_ERRORS:
            break
        sentences = list(perturbed[-1] if perturbed else report)
        if probe == FALSE_FINDING:
            sentences.append(_false_finding(sentences, rng))
        elif (edited := ERROR_EDITS[probe](sentences[index], rng)) is not None:
            sentences[index] = edited
        else:
            continue
        perturbed.append(tuple(sentences))
    return [tuple(sentence for sentence in sentences if sentence.text) for sentences in perturbed]


def _false_finding(report: list[Sentence], rng: Random) -> Sentence:
    """Return a sentence about a finding that the report does not mention."""
    stated = {fact.finding for sentence in report for fact in sentence.facts}
    options = [
        key
        for key, finding in FINDINGS.items()
        if not finding.is_device and not any(is_related(key, other) for other in stated)
    ]
    return fact_sentence(sample_fact(sample_findings(rng, options, 1)[0], rng)._replace(change=None), rng)


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
    """Return the report with every sentence reworded, with the same sizes and device locations."""
    texts = []
    for sentence in report:
        if len(sentence.facts) > 1:
            reworded = joint_sentence(sentence.facts, rng)
        elif sentence.facts[0].location in _MISPLACED:
            reworded = _sample_device_sentence(sentence.facts[0], rng)
        else:
            reworded = _sample_sentence(sentence.facts[0], rng, bool(_SIZE.search(sentence.text)))
        texts.append(reworded.text)
    return " ".join(texts)


def _shuffle_sentences(report: ReportSentences, rng: Random) -> str:
    return report_text(tuple(rng.sample(report, k=len(report))))


def _replace_synonyms(report: ReportSentences, rng: Random) -> str:
    return _replace_phrases(report_text(report), {**SYNONYMS, **{new: old for old, new in SYNONYMS.items()}})


def _abbreviate(report: ReportSentences, rng: Random) -> str:
    return _replace_phrases(report_text(report), ABBREVIATIONS)


def _vary_white_space(report: ReportSentences, rng: Random) -> str:
    """Return the report with one line per sentence and some double spaces."""
    return "\n".join(re.sub(" ", lambda _: rng.choice((" ", "  ")), sentence.text) for sentence in report)


def _change_case(report: ReportSentences, rng: Random) -> str:
    return rng.choice((str.upper, str.lower))(report_text(report))


def _replace_phrases(text: str, replacements: Mapping[str, str]) -> str:
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, replacements), key=len, reverse=True)) + r")\b"

    def replacement(match: re.Match[str]) -> str:
        new = replacements[match[0].lower()]
        return capitalize_first(new) if match[0][0].isupper() else new

    return re.sub(pattern, replacement, text, flags=re.IGNORECASE)


INVARIANT_EDITS: dict[str, Callable[[ReportSentences, Random], str]] = {
    "paraphrase": reword_sentences,
    "reordering": _shuffle_sentences,
    "synonym": _replace_synonyms,
    "abbreviation": _abbreviate,
    "whitespace": _vary_white_space,
    "case": _change_case,
}
INVARIANCE_PROBES = tuple(INVARIANT_EDITS)
"""Probes under which a score should stay constant."""


def perturb_report(probe: str, report: ReportSentences, seed: str) -> PerturbedReport:
    """Return the perturbations of one report by one probe, the same for the same seed.

    >>> perturbed = perturb_report("laterality", sample_probe_report(Random(1)), "1")
    >>> len(perturbed.perturbed), perturbed == perturb_report("laterality", sample_probe_report(Random(1)), "1")
    (3, True)
    """
    rng = Random(f"{probe} {seed}")
    if probe in INVARIANT_EDITS:
        texts = [INVARIANT_EDITS[probe](report, rng)]
    else:
        texts = [report_text(sentences) for sentences in inject_errors(probe, report, rng)]
    return PerturbedReport(report_text(report), tuple(texts))
