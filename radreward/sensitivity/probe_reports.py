"""Generated reports for sensitivity probes."""

from __future__ import annotations

from random import Random

from radreward.synthesis.fact_sampling import ALL_SIZES
from radreward.synthesis.grammar import fact_sentence, joint_sentence
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import FINDINGS, remove_related
from radreward.text.locations import LOCATION_SUFFIXES
from radreward.text.measurements import MEASURED_FINDINGS

MAX_ERRORS = 3
"""Maximum number of errors of one kind in one report."""
LATERALIZED = ("effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "scar", "subq", "thickening")
_CENTRAL_LINES = ("cvc", "picc", "port", "dialysis")
_NEGATABLE = ("edema", "fracture", "freeair", "cardiomegaly", "widemed", "adenopathy", "pneumonia")
OTHER_CHANGE: dict[Change | None, Change] = {"worse": "better", "better": "worse", "stable": "worse", "new": "stable"}

ReportSentences = tuple[Sentence, ...]


def sample_probe_report(rng: Random) -> ReportSentences:
    """Return a report of twelve sentences in which every kind of error can be made three times and affects care.

    >>> report = sample_probe_report(Random(0))
    >>> len(report), report == sample_probe_report(Random(0))
    (12, True)
    """
    sentences = []
    for key in remove_related(rng.sample(LATERALIZED, k=len(LATERALIZED)))[:MAX_ERRORS]:
        fact = _sample_lateral_fact(key, rng)
        sentences.append(fact_sentence(fact._replace(change=rng.choice(tuple(OTHER_CHANGE))), rng))
    for key in sorted(MEASURED_FINDINGS):
        fact = _sample_lateral_fact(key, rng)._replace(severity=None, size=rng.choice(ALL_SIZES))
        sentences.append(fact_sentence(fact, rng))
    devices = (("ett", "above carina"), ("ngt", "stomach"), (rng.choice(_CENTRAL_LINES), "svc"))
    sentences += [sample_device_sentence(Fact(key, location=location), rng) for key, location in devices]
    absent = [Fact(key, "absent") for key in rng.sample(_NEGATABLE, k=4)]
    sentences += [joint_sentence(facts, rng) for facts in (absent[:1], absent[1:2], absent[2:])]
    rng.shuffle(sentences)
    return tuple(sentences)


def _sample_lateral_fact(key: str, rng: Random) -> Fact:
    finding = FINDINGS[key]
    location = rng.choice([location for location in finding.locations if location.startswith(("left", "right"))])
    return Fact(key, location=location, severity=rng.choice(("mild", "severe")) if finding.has_severity else None)


def sample_device_sentence(fact: Fact, rng: Random) -> Sentence:
    """Return a sentence that states the name of a device and then its location."""
    phrases = LOCATION_SUFFIXES[fact.location or ""]
    while not any(phrase in (sentence := fact_sentence(fact, rng)).text for phrase in phrases):
        pass
    return sentence


def report_text(report: ReportSentences) -> str:
    """Return the text of a report."""
    return " ".join(sentence.text for sentence in report)
