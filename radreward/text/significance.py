"""Clinical significance of findings, after the published guideline of CRIMSON (arXiv 2603.06183).

findings.txt has the level of each finding; significance.txt lists details and patients that change it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, URGENCIES, Urgency, ancestors
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.section_files import read_sections
from radreward.text.sentence_parser import sentence_facts

_SIGNIFICANCE_WEIGHTS: dict[Urgency, float] = dict(zip(URGENCIES, (1.0, 0.5, 0.25, 0.0), strict=True))
"""Weight of a finding by its level."""
UNKNOWN_WEIGHT = _SIGNIFICANCE_WEIGHTS["not actionable"]
"""Weight of a finding in words that the vocabulary does not know."""
_LEAST_RANK = URGENCIES.index("not actionable")
"""Rank in `URGENCIES` of a finding that needs no care; only age-related changes are below."""
_ELDERLY_AGE = 65
"""Age in years from which age-related changes are expected."""
_SMALL_CHILD_AGE = 5
"""Age in years below which a fracture is urgent."""
_TRAUMA = re.compile(r"\b(?:trauma\w*|falls?|fell|mvc|mva|accident|injury|assault|blunt)\b", re.IGNORECASE)
_PROCEDURE = re.compile(
    r"\b(?:status post|s/p|post-?\s?(?:op\w*|procedur\w*)|after|following|placement|removal|biopsy|surgery"
    r"|thoracentesis)\b",
    re.IGNORECASE,
)
_SECTIONS = {
    title: tuple(tuple(part.strip() for part in line.split("|")) for line in lines)
    for title, lines in read_sections("significance.txt").items()
}
_KNOWN = re.compile(r"\b(?:known|history of|h/o|hx|chronic|prior|previous|follow-?\s?up)\b", re.IGNORECASE)


@lru_cache(10_000)
def significance_level(fact: Fact) -> Urgency:
    """Return the level of a finding with its details for a typical patient, as generated data has it.

    An absent finding is benign, a resolved one not actionable.

    >>> heart = Fact("cardiomegaly", severity="mild")
    >>> significance_level(heart), significance_level(heart._replace(severity="severe"))
    ('actionable', 'urgent')
    """
    if not fact.positive:
        return "not actionable" if fact.change == "resolved" else "benign"
    stated = {fact.severity, fact.location, fact.change}
    for keys, details, level in _SECTIONS["details"]:
        if fact.finding in keys.split() and stated & set(details.split(", ")):
            return next(name for name in URGENCIES if name == level)
    return FINDINGS[fact.finding].urgency


def significance_weight(fact: Fact) -> float:
    """Return the weight of the level of a finding for a typical patient, see `significance_level`.

    >>> significance_weight(Fact("pneumothorax")), significance_weight(Fact("degenerative"))
    (1.0, 0.0)
    """
    return _SIGNIFICANCE_WEIGHTS[significance_level(fact)]


def patient_level(fact: Fact, context: PatientContext = NO_CONTEXT) -> Urgency:
    """Return the level of a finding for one patient, as scorers weigh it.

    Only age-related changes are benign, from 65 years on, unless the indication names them; every other finding is at
    least "not actionable". Fractures in small children are urgent. A finding that a known condition or a recent
    procedure of the indication explains is one level lower, but never benign. After an injury, fractures and
    pneumothorax are at least actionable.

    >>> old, heart_failure = PatientContext(age=70), PatientContext(indication="History of heart failure.")
    >>> patient_level(Fact("degenerative")), patient_level(Fact("degenerative"), old), patient_level(Fact("clips"), old)
    ('not actionable', 'benign', 'not actionable')
    >>> patient_level(Fact("cardiomegaly", severity="mild"), heart_failure)
    'not actionable'
    """
    if not fact.positive:
        return significance_level(fact)
    age, text = context.age, context.indication or ""
    if age is not None and age >= _ELDERLY_AGE and fact.finding in _findings("age"):
        is_asked = any(fact.finding in ancestors(asked.finding) for asked in sentence_facts(text))
        return "not actionable" if is_asked else "benign"
    if age is not None and age < _SMALL_CHILD_AGE and fact.finding in _findings("children"):
        return "urgent"
    rank = min(URGENCIES.index(significance_level(fact)), _LEAST_RANK)
    if _is_explained(fact, text):
        rank = min(rank + 1, _LEAST_RANK)
    if _TRAUMA.search(text) and _findings("trauma").intersection(ancestors(fact.finding)):
        rank = min(rank, URGENCIES.index("actionable"))
    return URGENCIES[rank]


def patient_weight(fact: Fact, context: PatientContext = NO_CONTEXT) -> float:
    """Return the weight of the level of a finding for one patient, see `patient_level`.

    >>> patient_weight(Fact("degenerative")), patient_weight(Fact("degenerative"), PatientContext(age=80))
    (0.25, 0.0)
    """
    return _SIGNIFICANCE_WEIGHTS[patient_level(fact, context)]


@lru_cache(10_000)
def is_actionable(fact: Fact) -> bool:
    """Return True if a finding with its details is urgent or actionable. A resolved finding counts as present.

    >>> is_actionable(Fact("edema", "absent", change="resolved")), is_actionable(Fact("scar"))
    (True, False)
    """
    if not fact.positive and fact.change:
        fact = fact._replace(polarity="present", change=None)
    return significance_level(fact) in ("urgent", "actionable")


def _is_explained(fact: Fact, indication: str) -> bool:
    """Return True if a known condition or a recent procedure of the indication explains a finding."""
    if _PROCEDURE.search(indication) and fact.finding in _findings("procedure"):
        return not _TRAUMA.search(indication)
    if not _KNOWN.search(indication):
        return False
    if any(known.finding in ancestors(fact.finding) for known in sentence_facts(indication)):
        return True
    return any(
        fact.finding in keys.split() and re.search(rf"\b(?:{words.replace(', ', '|')})\b", indication, re.IGNORECASE)
        for words, keys in _SECTIONS["known"]
    )


def _findings(section: str) -> frozenset[str]:
    """Return the keys of a section with a single line of findings."""
    return frozenset(_SECTIONS[section][0][0].split())
