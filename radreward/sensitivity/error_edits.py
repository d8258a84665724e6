"""Edits that inject errors of one kind, for sensitivity probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from radreward.sensitivity.probe_reports import LATERALIZED, MAX_ERRORS, OTHER_CHANGE, ReportSentences
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.perturbations.fact_edits import other_sizes
from radreward.synthesis.perturbations.sentence_edits import change_severity_word, closest_wording
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, can_mean_same, stated_finding
from radreward.text.locations import LOCATION_SUFFIXES, mirror_side
from radreward.text.significance import significance_weight

MISPLACED = {"above carina": "right mainstem", "stomach": "esophagus", "svc": "brachiocephalic"}
"""Correct position of a device → wrong position."""
_OTHER_EXTREME = {"mild": "severe", "severe": "mild"}
"""Severity → a severity that needs different care."""
_SIZE = re.compile(r"\b[\d.]+ ([cm]m)\b")
_SentenceEdit = Callable[[Sentence, Random], Sentence | None]


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
    fact = sentence.facts[0]
    severity = _OTHER_EXTREME.get(fact.severity or "") if fact.finding in LATERALIZED else None
    return change_severity_word(sentence, severity, rng) if severity else None


def _resize(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    if not fact.size:
        return None
    size = rng.choice(other_sizes(fact.size))
    text = _SIZE.sub(lambda match: f"{size / (10 if match[1] == 'cm' else 1):g} {match[1]}", sentence.text)
    return sentence._replace(text=text, facts=(fact._replace(size=size),))


def _misplace_device(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    wrong = MISPLACED.get(fact.location or "")
    if not wrong:
        return None
    stated = max((phrase for phrase in LOCATION_SUFFIXES[fact.location or ""] if phrase in sentence.text), key=len)
    text = sentence.text.replace(stated, rng.choice(LOCATION_SUFFIXES[wrong]))
    misplaced = fact._replace(finding=stated_finding(fact.finding, wrong), location=wrong)
    return sentence._replace(text=text, facts=(misplaced,))


def _reverse_change(sentence: Sentence, rng: Random) -> Sentence | None:
    fact = sentence.facts[0]
    return closest_wording(fact._replace(change=OTHER_CHANGE[fact.change]), sentence, rng) if fact.change else None


def _omit(sentence: Sentence, rng: Random) -> Sentence | None:
    return sentence._replace(text="", facts=()) if _is_lateralized_finding(sentence.facts[0]) else None


def _is_lateralized_finding(fact: Fact) -> bool:
    return fact.finding in LATERALIZED and fact.positive


ERROR_EDITS: dict[str, _SentenceEdit] = {
    "laterality": _mirror,
    "negation": _negate,
    "severity": _change_severity,
    "measurement": _resize,
    "device position": _misplace_device,
    "comparison": _reverse_change,
    "omission": _omit,
}
"""Name of each kind of error → edit of a sentence that makes this error, or returns None if it does not apply."""
FALSE_FINDING = "false finding"


def inject_errors(probe: str, report: ReportSentences, rng: Random) -> list[ReportSentences]:
    """Return the report with one error of a kind, with two errors, and so on up to `MAX_ERRORS`.

    Each version keeps the errors of the version before it.

    Raises:
        ValueError: If there is no such probe.
    """
    if probe not in (*ERROR_EDITS, FALSE_FINDING):
        raise ValueError(f"Expected one of {', '.join((*ERROR_EDITS, FALSE_FINDING))} but got {probe!r}.")
    perturbed: list[ReportSentences] = []
    for index in rng.sample(range(len(report)), k=len(report)):
        if len(perturbed) == MAX_ERRORS:
            break
        sentences = list(perturbed[-1] if perturbed else report)
        if probe == FALSE_FINDING:
            sentences.append(false_finding(sentences, rng))
        elif (edited := ERROR_EDITS[probe](sentences[index], rng)) is not None:
            sentences[index] = edited
        else:
            continue
        perturbed.append(tuple(sentences))
    return [tuple(sentence for sentence in sentences if sentence.text) for sentences in perturbed]


def false_finding(report: Sequence[Sentence], rng: Random, stated: Iterable[str] = ()) -> Sentence:
    """Return a sentence about a clinically significant finding that the report does not mention.

    Args:
        report: Sentences with their facts.
        rng: Source of randomness.
        stated: Further findings that the report states, in words that are not parsed.

    >>> text = false_finding([], Random(0)).text
    >>> text == false_finding([], Random(0)).text
    True
    """
    names = {*stated, *(fact.finding for sentence in report for fact in sentence.facts)}
    options = [
        key
        for key, finding in GENERATED_FINDINGS.items()
        if not finding.is_device and not any(can_mean_same(key, other) for other in names)
    ]
    while not significance_weight(fact := sample_fact(sample_findings(rng, options, 1)[0], rng)._replace(change=None)):
        pass
    return fact_sentence(fact, rng)
