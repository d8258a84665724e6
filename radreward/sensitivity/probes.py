"""Sensitivity probes: reports with errors, with a partly correct finding, and with meaning-preserving edits."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from radreward.sensitivity.error_edits import ERROR_EDITS, FALSE_FINDING, inject_errors
from radreward.sensitivity.graded_edits import GRADED_EDITS, grade_finding
from radreward.sensitivity.invariance_edits import INVARIANT_EDITS
from radreward.sensitivity.probe_reports import LATERALIZED, ReportSentences, report_text
from radreward.synthesis.grammar import fact_sentence

ERROR_PROBES = (*ERROR_EDITS, FALSE_FINDING)
"""Probes under which a score should fall with every error."""
FALLING_PROBES = (*ERROR_PROBES, *GRADED_EDITS)
"""Probes under which a score should fall with every step: every error, or partly correct and then missed."""
_ADDED_LOCATION = "added location"
INVARIANCE_PROBES = (*INVARIANT_EDITS, _ADDED_LOCATION)
"""Probes under which a score should stay constant."""


class PerturbedReport(NamedTuple):
    """A report and its perturbations by one probe."""

    reference: str
    perturbed: tuple[str, ...]
    """The edited reports of a probe.

    There are three kinds: the report with one error, two errors and so on; the report with a finding partly correct,
    then missed; or the report with one meaning-preserving edit.
    """


def perturb_report(probe: str, report: ReportSentences, seed: str) -> PerturbedReport:
    """Return the perturbations of one report by one probe. Equal seeds give equal perturbations.

    Two kinds of probes edit the reference too. For "added location", the reference omits the location of one finding,
    and the candidate states this location. For graded probes, such as "one of two sides", the reference may state one
    finding differently.

    Raises:
        ValueError: If there is no such probe.

    >>> from radreward.sensitivity.probe_reports import sample_probe_report
    >>> perturbed = perturb_report("laterality", sample_probe_report(Random(1)), "1")
    >>> len(perturbed.perturbed), perturbed == perturb_report("laterality", sample_probe_report(Random(1)), "1")
    (3, True)
    """
    rng = Random(f"{probe} {seed}")
    text = report_text(report)
    if probe == _ADDED_LOCATION:
        return PerturbedReport(report_text(_without_location(report, rng)), (text,))
    if probe in GRADED_EDITS:
        reference, *steps = map(report_text, grade_finding(probe, report, rng))
        return PerturbedReport(reference, tuple(steps))
    if probe in INVARIANT_EDITS:
        return PerturbedReport(text, (INVARIANT_EDITS[probe](report, rng),))
    return PerturbedReport(text, tuple(report_text(sentences) for sentences in inject_errors(probe, report, rng)))


def _without_location(report: ReportSentences, rng: Random) -> ReportSentences:
    """Return the report with one finding reworded without its location."""
    indices = [index for index, sentence in enumerate(report) if sentence.facts[0].finding in LATERALIZED]
    chosen = rng.choice(indices)
    fact = report[chosen].facts[0]._replace(location=None)
    return tuple(fact_sentence(fact, rng) if index == chosen else entry for index, entry in enumerate(report))
