"""Generated reports for sensitivity probes."""

from __future__ import annotations

import re
from random import Random

from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import FINDINGS, remove_related
from radreward.text.locations import LOCATION_SUFFIXES
from radreward.text.severity import SEVERITY_WORDS

MAX_ERRORS = 3
"""Maximum number of errors of one kind in one report."""
LATERALIZED = ("effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "scar", "subq", "thickening")
SIZED_FINDINGS = ("nodule", "mass", "cavity")
CENTRAL_LINES = ("cvc", "picc", "port", "dialysis")
NEGATABLE = ("edema", "fracture", "freeair", "cardiomegaly", "widemed", "adenopathy", "pneumonia")
OTHER_CHANGE: dict[Change | None, Change] = {"worse": "better", "better": "worse", "stable": "worse", "new": "stable"}
SIZE = re.compile(r"(?<=measuring )[\d.]+(?= [cm]m)")

ReportSentences = tuple[Sentence, ...]


def sample_probe_report(rng: Random) -> ReportSentences:
    """Return a report of twelve sentences in which every kind of error can be made three times.

    >>> report = sample_probe_report(Random(0))
    >>> len(report), report == sample_probe_report(Random(0))
    (12, True)
    """
    sentences = []
    for key in remove_related(rng.sample(LATERALIZED, k=len(LATERALIZED)))[:MAX_ERRORS]:
        fact = _sample_lateral_fact(key, rng)
        sentences.append(sample_sentence(fact._replace(change=rng.choice(tuple(OTHER_CHANGE))), rng))
    sentences += [sample_sentence(_sample_lateral_fact(key, rng), rng, has_size=True) for key in SIZED_FINDINGS]
    devices = (("ett", "above carina"), ("ngt", "stomach"), (rng.choice(CENTRAL_LINES), "svc"))
    sentences += [sample_device_sentence(Fact(key, location=location), rng) for key, location in devices]
    absent = [Fact(key, "absent") for key in rng.sample(NEGATABLE, k=4)]
    sentences += [joint_sentence(facts, rng) for facts in (absent[:1], absent[1:2], absent[2:])]
    rng.shuffle(sentences)
    return tuple(sentences)


def _sample_lateral_fact(key: str, rng: Random) -> Fact:
    finding = FINDINGS[key]
    location = rng.choice([location for location in finding.locations if location.startswith(("left", "right"))])
    return Fact(key, location=location, severity=rng.choice(tuple(SEVERITY_WORDS)) if finding.has_severity else None)


def sample_sentence(fact: Fact, rng: Random, has_size: bool = False) -> Sentence:
    """Return a sentence for a fact, with a size in millimeters or centimeters or without."""
    while bool(SIZE.search((sentence := fact_sentence(fact, rng)).text)) != has_size:
        pass
    return sentence


def sample_device_sentence(fact: Fact, rng: Random) -> Sentence:
    """Return a sentence for a device that states its location after the name."""
    phrases = LOCATION_SUFFIXES[fact.location or ""]
    while not any(phrase in (sentence := fact_sentence(fact, rng)).text for phrase in phrases):
        pass
    return sentence


def report_text(report: ReportSentences) -> str:
    """Return the text of a report."""
    return " ".join(sentence.text for sentence in report)
