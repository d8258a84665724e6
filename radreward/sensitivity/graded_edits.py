"""Edits that degrade one finding in two steps, for sensitivity probes: correct, partly correct, missed."""

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
"""Pairs of the fact as the reference states it, and the same fact partly correct."""
_VAGUE_NAMES = {
    "effusion": "blunting",
    "loculated": "effusion",
    "hydropneumothorax": "pneumothorax",
    "atelectasis": "opacity",
    "collapse": "atelectasis",
    "aspiration": "opacity",
    "contusion": "opacity",
}
"""Finding → sign or more general finding that names it vaguely and needs different care."""


def _vague_name(fact: Fact) -> _FactSteps:
    for specific, vague in _VAGUE_NAMES.items():
        if fact.finding in ancestors(specific):
            plain = Fact(specific, location=fact.location)
            named_vaguely = plain._replace(finding=vague)
            if _is_not_worse_than_missed(plain, named_vaguely):
                yield plain, named_vaguely


def _is_not_worse_than_missed(fact: Fact, partly: Fact) -> bool:
    """Return True if stating the fact partly correct is no worse than omitting its finding."""
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
"""Name of each probe → function that yields the ways to state a finding partly correct, if there are any."""


def grade_finding(probe: str, report: ReportSentences, rng: Random) -> tuple[ReportSentences, ...]:
    """Return three reports: with a correct finding, with this finding partly correct, and without it.

    If the sentence of the finding does not state it as the probe needs it, the sentence is reworded in the first report
    too. If no finding of the report can be partly correct, only the given report is returned.

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
