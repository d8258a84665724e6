"""Edits that degrade one finding in two steps, for sensitivity probes: right, partly right, missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from radreward.sensitivity.probe_reports import LATERALIZED, ReportSentences
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.perturbations.sentence_edits import closest_wording
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, ancestors
from radreward.text.significance import significance_weight

_FactSteps = Iterator[tuple[Fact, Fact]]
"""A fact as the reference states it, and as it is partly right."""
_VAGUE_NAMES = {
    "effusion": "blunting",
    "loculated": "effusion",
    "hydropneumothorax": "pneumothorax",
    "atelectasis": "opacity",
    "collapse": "atelectasis",
    "aspiration": "opacity",
    "contusion": "opacity",
}
"""Findings, and the sign or the more general finding that names them vaguely and means other care."""


def _vague_name(fact: Fact) -> _FactSteps:
    for specific, vague in _VAGUE_NAMES.items():
        if fact.finding in ancestors(specific):
            plain = Fact(specific, location=fact.location)
            named_vaguely = plain._replace(finding=vague)
            if _is_not_worse_than_missed(plain, named_vaguely):
                yield plain, named_vaguely


def _is_not_worse_than_missed(fact: Fact, partly: Fact) -> bool:
    """Return True if the wrong details of a fact weigh no more than omitting its finding."""
    return significance_weight(partly) <= significance_weight(fact)


def _one_side(fact: Fact) -> _FactSteps:
    if "bilateral" in FINDINGS[fact.finding].locations:
        both = fact._replace(location="bilateral")
        yield from ((both, both._replace(location=side)) for side in ("left", "right"))


def _wrong_degree(fact: Fact) -> _FactSteps:
    if fact.severity:
        mild, severe = (fact._replace(severity=severity) for severity in ("mild", "severe"))
        yield from (steps for steps in ((mild, severe), (severe, mild)) if _is_not_worse_than_missed(*steps))


GRADED_EDITS: dict[str, Callable[[Fact], _FactSteps]] = {
    "vague finding": _vague_name,
    "one of two sides": _one_side,
    "wrong degree": _wrong_degree,
}
"""Edits that yield the ways to state a finding partly right, none if they do not apply."""


def grade_finding(probe: str, report: ReportSentences, rng: Random) -> tuple[ReportSentences, ...]:
    """Return a report, the same with one finding partly right, and without this finding; or the report alone.

    The report is alone if none of its findings can be partly right. Its sentence is reworded if it does not state the
    finding as the probe needs it.

    Raises:
        ValueError: If there is no such probe.
    """
    if probe not in GRADED_EDITS:
        raise ValueError(f"Expected one of {', '.join(GRADED_EDITS)} but got {probe!r}.")
    options = [
        (index, *facts)
        for index, sentence in enumerate(report)
        if sentence.facts[0].finding in LATERALIZED
        for facts in GRADED_EDITS[probe](sentence.facts[0])
    ]
    if not options:
        return (report,)
    index, stated, partial = rng.choice(options)
    right = report[index] if stated in report[index].facts else fact_sentence(stated, rng)
    steps = ((right,), (closest_wording(partial, right, rng),), ())
    return tuple((*report[:index], *step, *report[index + 1 :]) for step in steps)
