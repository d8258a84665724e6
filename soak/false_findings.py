"""Generated reports with a sentence added: quality must not rise with a false finding or fall with a correct negation.

The quality of the reference is 1. Totals are only shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import NamedTuple

from torch import Tensor

from experiments.compare_metrics import METRICS
from radreward.criteria import RadCliQCriteria
from radreward.score_outputs import ScoreOutput
from radreward.scorers import load
from radreward.sensitivity.error_edits import false_finding
from radreward.synthesis import synthesize
from radreward.synthesis.grammar import fact_sentence
from radreward.text.facts import Fact
from radreward.text.report_parser import parse_report
from soak import Outcome

GROUPS = 200
"""Groups of complete reports, and as many of single statements, in the full run."""
CANDIDATES = 3
"""Generated candidates of a reference; the reference itself and a report of another patient are candidates too."""
REQUIRED: tuple[tuple[ScoreOutput, float, float], ...] = (("total", 0.0, 1e-5), ("quality", 0.99, 0.005))
"""Share of the cases in which an output must not get worse by what is right, or better by what is wrong, and relative
differences that count as none: words that state no finding change a quality by up to half a percent."""


class Case(NamedTuple):
    """A pair of reports, and two changed candidates."""

    reference: str
    candidate: str
    with_false_finding: str
    """The candidate with a finding that neither report mentions."""
    with_negation: str
    """The candidate with the negation of this finding, which is correct."""


def run(scale: float) -> Iterator[Outcome]:
    """Yield the outcomes of each scorer, for the same cases."""
    references, candidates, worse, right = zip(*generated_cases(max(1, round(scale * GROUPS))), strict=True)
    for name in METRICS:
        scorer = load(name).fit_references(references)
        scored = [scorer.score(references, texts) for texts in (references, candidates, worse, right)]
        for output, share, margin in REQUIRED[: 1 + scorer.has_quality]:
            best, own, false, negated = (scorer.higher_is_better_output(scores, output) for scores in scored)
            for promise, expected, value, required in (
                ("does not rise with a false finding", own, false, share),
                ("does not fall with a correct negation", negated, own, share),
                ("is highest for the reference", best, own, float(output == "quality")),
            ):
                yield _outcome(f"{output} {promise}, {name}", expected, value, required, margin)


def generated_cases(number: int) -> Iterator[Case]:
    """Yield cases of complete reports and of single statements."""
    rng, other = Random(0), "Normal chest."
    wordings = Random(1)
    for granularity in ("report", "statement"):
        groups = synthesize(RadCliQCriteria(), number, CANDIDATES, granularity=granularity)
        for group in islice(groups, number):
            for text in (group.reference, *(candidate.text for candidate in group.candidates), other):
                stated = (*parse_report(group.reference).sentences, *parse_report(text).sentences)
                false = false_finding(stated, rng)
                negation = fact_sentence(Fact(false.facts[0].finding, "absent"), wordings)
                yield Case(group.reference, text, f"{text} {false.text}", f"{text} {negation.text}")
            other = group.reference


def _outcome(name: str, expected: Tensor, value: Tensor, required: float, margin: float) -> Outcome:
    """Return how many of the values that are scored are at most the expected ones, up to a relative margin."""
    rows = expected.isfinite() & value.isfinite()
    expected, value = expected[rows], value[rows]
    rise = value - expected
    rises = rise > margin * expected.abs().clamp_min(1)
    note = f"not so in {100 * rises.float().mean():.1f} %" if rises.any() else ""
    deviation = float(rise.max()) if rises.any() else 0.0
    return Outcome(name, len(rise), int((~rises).sum()), note, required, deviation)
